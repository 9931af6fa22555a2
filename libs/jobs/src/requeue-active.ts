import { Worker } from "bullmq";
import type { Redis } from "ioredis";
import type { JobData } from "./job-data.js";
import { JOB_KINDS, queuesOf } from "./job-names.js";
import { jobKeys } from "./keys.js";
import { connectRedis } from "./redis.js";
import { JOB_SETTINGS, type JobSettings } from "./settings.js";
import type { JobKind, QueueName } from "./types.js";

/**
 * Gives the active jobs of a dead worker back to their queues at once, instead of when their locks expire.
 *
 * Precondition: no worker of these queues is alive. A supervisor that has just seen its only worker process end knows
 * that; the distributed profile never does and waits for the locks. (Were one alive, its jobs would run twice at the same
 * time; effects would still happen once, by the inbox and the fence, but the work would be done twice.)
 *
 * Every job given back counts as stalled once, so that a job that kills its worker each time still ends as `dead`.
 * @returns how many jobs were given back
 * @throws Error if Redis cannot be reached; call it again
 */
export async function requeueActive(
  address: string,
  options: { readonly roles?: readonly JobKind[]; readonly settings?: Partial<JobSettings> } = {},
): Promise<number> {
  const settings = { ...JOB_SETTINGS, ...options.settings };
  const redis = connectRedis(address, "worker", { retryStrategy: null, lazyConnect: true });
  try {
    await redis.connect();
    let count = 0;
    for (const queue of queuesOf(options.roles ?? JOB_KINDS)) count += await requeueQueue(redis, queue, settings);
    return count;
  } finally {
    redis.disconnect();
  }
}

/**
 * Takes the dead worker's locks away and marks its jobs as suspects, which is all that BullMQ's own check for stalled jobs
 * waits for; the check then moves them, counts them and wakes the queue. O(active jobs).
 */
async function requeueQueue(redis: Redis, queue: QueueName, settings: JobSettings): Promise<number> {
  const checker = new Worker<JobData>(queue, null, {
    connection: redis,
    prefix: jobKeys(settings.prefix).queuePrefix(queue),
    autorun: false,
    skipVersionCheck: true,
    maxStalledCount: settings.queues[queue].maxStalledCount,
    stalledInterval: settings.queues[queue].stalledIntervalMs,
  });
  try {
    await checker.waitUntilReady();
    const keys = [checker.toKey("active"), checker.toKey("stalled"), checker.toKey("stalled-check")];
    await redis.eval(DISOWN, keys.length, ...keys, checker.toKey(""));
    return (await checker.getBackend().moveStalledJobsToWait()).length;
  } finally {
    await checker.close();
  }
}

/** KEYS active, stalled, stalled-check. ARGV prefix of the queue's keys. */
const DISOWN = `
for _, id in ipairs(redis.call('LRANGE', KEYS[1], 0, -1)) do
  redis.call('DEL', ARGV[1] .. id .. ':lock')
  redis.call('SADD', KEYS[2], id)
end
return redis.call('DEL', KEYS[3])`;
