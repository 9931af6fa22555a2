import type { Queue } from "bullmq";
import type { Redis } from "ioredis";
import type { JobData } from "./job-data.js";
import { JOB_KINDS, queuesOf } from "./job-names.js";
import { jobKeys } from "./keys.js";
import { openQueue } from "./open-queue.js";
import { connectRedis } from "./redis.js";
import { JOB_SETTINGS, type JobSettings } from "./settings.js";

/** The queues of a deployment for people who look into them. */
export interface QueueViews {
  readonly queues: readonly Queue<JobData>[];
  close(): Promise<void>;
}

/** Opens all queues over one connection. Returns at once, also when Redis is down. */
export function createQueueViews(options: {
  /** As for `createJobClient`. */
  readonly redis: string;
  readonly settings?: Partial<JobSettings>;
}): QueueViews {
  const settings = { ...JOB_SETTINGS, ...options.settings };
  const redis: Redis = connectRedis(options.redis, "producer");
  const keys = jobKeys(settings.prefix);
  const queues = queuesOf(JOB_KINDS).map((name) => openQueue(redis, keys, settings, name));
  return {
    queues,
    close: async () => {
      await Promise.all(queues.map((queue) => queue.close().catch(() => undefined)));
      redis.disconnect();
    },
  };
}
