import { Queue } from "bullmq";
import type { Redis } from "ioredis";
import type { JobData } from "./job-data.js";
import type { JobKeys } from "./keys.js";
import { QUEUE_RETENTION, type JobSettings } from "./settings.js";
import type { QueueName } from "./types.js";

/** A queue, to add jobs to, over a connection of the caller's. Errors reach the caller through its calls. */
export function openQueue(redis: Redis, keys: JobKeys, settings: JobSettings, name: QueueName): Queue<JobData> {
  const queue = new Queue<JobData>(name, {
    connection: redis,
    prefix: keys.queuePrefix(name),
    skipVersionCheck: true,
    streams: { events: { maxLen: QUEUE_RETENTION.events } },
    defaultJobOptions: { attempts: settings.queues[name].attempts, backoff: { type: "custom" } },
  });
  queue.on("error", ignore);
  return queue;
}

function ignore(): void {
  // Connection errors reach the caller through the call that fails.
}
