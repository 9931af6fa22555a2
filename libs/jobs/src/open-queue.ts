import { Queue } from "bullmq";
import type { Redis } from "ioredis";
import type { JobData } from "./job-data.js";
import type { JobKeys } from "./keys.js";
import { QUEUE_RETENTION, type JobSettings } from "./settings.js";
import type { JobKind } from "./types.js";

/** The queue of a kind, to add jobs to, over a connection of the caller's. Errors reach the caller through its calls. */
export function openQueue(redis: Redis, keys: JobKeys, settings: JobSettings, kind: JobKind): Queue<JobData> {
  const queue = new Queue<JobData>(kind, {
    connection: redis,
    prefix: keys.queuePrefix(kind),
    skipVersionCheck: true,
    streams: { events: { maxLen: QUEUE_RETENTION.events } },
    defaultJobOptions: { attempts: settings.queues[kind].attempts, backoff: { type: "custom" } },
  });
  queue.on("error", ignore);
  return queue;
}

function ignore(): void {
  // Connection errors reach the caller through the call that fails.
}
