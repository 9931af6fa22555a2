import type { Redis } from "ioredis";
import type { Clock } from "#core";
import type { Admission } from "../admission/admission.js";
import type { JobKeys } from "../keys.js";
import type { JobSettings } from "../settings.js";
import type { StatusWrites } from "../status-writes.js";
import type { JobRecord, PayloadStore } from "../types.js";

/** What the parts of a process's job client share. */
export interface ClientParts {
  readonly redis: Redis;
  readonly keys: JobKeys;
  readonly settings: JobSettings;
  readonly clock: Clock;
  readonly payloadStore: PayloadStore;
  readonly admission: Admission;
  readonly writes: StatusWrites;
  /** Channel on which this process is woken. */
  readonly channel: string;
  /** Runs calls of Redis with a time-out over all of them. Errors: `queue_unavailable`. */
  readonly call: <T>(calls: () => Promise<T>) => Promise<T>;
  /** A job with its result. Errors: `job_not_found`. */
  readonly get: (tenant: string, id: string) => Promise<JobRecord>;
}
