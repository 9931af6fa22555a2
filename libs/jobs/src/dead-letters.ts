import type { Redis } from "ioredis";
import { jobKeys, queueJobId } from "./keys.js";
import type { JobSettings } from "./settings.js";
import type { JobKind } from "./types.js";

/** A job that is about to be given up, or was. */
export interface DeadJob {
  readonly kind: JobKind;
  readonly tenant: string;
  readonly id: string;
  /** When; milliseconds since the epoch. */
  readonly diedAt: number;
}

/**
 * Puts a job on its tenant's list of dead letters. To be done before it ends: a process that dies between the two leaves an
 * entry too many, never a letter that nobody finds.
 */
export async function listLetter(redis: Redis, settings: JobSettings, { tenant, id, diedAt }: DeadJob): Promise<void> {
  const letters = jobKeys(settings.prefix).letters(tenant);
  await redis.zadd(letters, diedAt, id);
  await redis.zremrangebyrank(letters, 0, -settings.lettersPerTenant - 1);
  await redis.pexpire(letters, settings.keepDeadMs);
}

/** Counts a job among the dead of its queue. */
export async function countDead(
  redis: Redis,
  settings: JobSettings,
  { kind, tenant, id, diedAt }: DeadJob,
): Promise<void> {
  const dead = jobKeys(settings.prefix).dead(kind);
  await redis.zadd(dead, diedAt, queueJobId(tenant, id));
  await redis.zremrangebyscore(dead, "-inf", diedAt - settings.keepFailedMs);
}
