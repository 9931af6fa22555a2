import type { Queue } from "bullmq";
import type { LaneBacklog, LaneName } from "../admission/admission.js";
import type { JobData } from "../job-data.js";
import { JOB_KINDS } from "../job-names.js";
import type { JobClient, JobKind } from "../types.js";
import type { ClientParts } from "./client-parts.js";

/** How old the backlog is, and how much waits ahead of the queues. */
export interface QueueAges {
  /** Jobs that wait for their turn, by lane, and since when the oldest of them does. */
  backlog(): Promise<Readonly<Record<LaneName, LaneBacklog>>>;
  /** Milliseconds since the oldest waiting job of each queue was submitted; 0 if none waits. */
  oldestMs(): Promise<Readonly<Record<JobKind, number>>>;
}

/** What metrics and operators are told of the queues. */
export class QueueReadings implements QueueAges, Pick<JobClient, "counts"> {
  readonly #parts: ClientParts;

  constructor(parts: ClientParts) {
    this.#parts = parts;
  }

  async counts(): Promise<Readonly<Record<JobKind, Readonly<Record<string, number>>>>> {
    const { redis, keys, settings, clock } = this.#parts;
    return this.#perQueue(async (kind, queue) => {
      const now = clock.now();
      const [counts, due, dead] = await Promise.all([
        queue.getJobCounts("waiting", "prioritized", "active", "delayed", "failed"),
        queue.getDelayedCount(now),
        redis.zcount(keys.dead(kind), now - settings.keepFailedMs, "+inf"),
      ]);
      return { ...counts, due, delayed: Math.max(0, (counts["delayed"] ?? 0) - due), dead };
    });
  }

  async oldestMs(): Promise<Readonly<Record<JobKind, number>>> {
    const now = this.#parts.clock.now();
    return this.#perQueue(async (_kind, queue) => {
      const [oldest] = await queue.getJobs(["waiting"], 0, 0, true);
      return oldest === undefined ? 0 : Math.max(0, now - oldest.timestamp);
    });
  }

  backlog(): Promise<Readonly<Record<LaneName, LaneBacklog>>> {
    const { call, admission, clock } = this.#parts;
    return call(() => admission.backlog(clock.now()));
  }

  async #perQueue<T>(read: (kind: JobKind, queue: Queue<JobData>) => Promise<T>): Promise<Record<JobKind, T>> {
    const { call, admission } = this.#parts;
    const entries = await call(() =>
      Promise.all(JOB_KINDS.map(async (kind) => [kind, await read(kind, admission.queue(kind))] as const)),
    );
    return Object.fromEntries(entries) as Record<JobKind, T>;
  }
}
