import type { Clock } from "#core";
import { RedisHeldJobs, type HeldJobs } from "../held/held-jobs.js";
import { connectRedis } from "../redis.js";
import { JOB_SETTINGS, type JobSettings } from "../settings.js";
import { RedisTenantJobs, type TenantJobs } from "../tenants/tenant-jobs.js";
import type { PayloadStore } from "../types.js";
import { DeliveryQueue } from "../webhooks/delivery-queue.js";
import { RedisRowBatches, type RowBatches } from "./row-batches.js";
import { RedisSweeps, type Sweeps } from "./sweeps.js";

/** What the processes of a deployment share, beside the jobs, to keep stores that lie apart together. */
export interface Background {
  readonly held: HeldJobs;
  readonly batches: RowBatches;
  readonly sweeps: Sweeps;
  readonly tenants: Pick<TenantJobs, "weights">;
  close(): Promise<void>;
}

/** Opens it over one connection. Returns at once, also when Redis is down: calls then answer `queue_unavailable`. */
export function createBackground(options: {
  /** As for `createJobClient`. */
  readonly redis: string;
  /** As for `createJobClient`. */
  readonly payloadStore: PayloadStore;
  readonly clock: Clock;
  readonly settings?: Partial<JobSettings>;
}): Background {
  const settings = { ...JOB_SETTINGS, ...options.settings };
  const redis = connectRedis(options.redis, "producer");
  const { clock, payloadStore } = options;
  const deliveries = new DeliveryQueue(redis, settings);
  const deps = { redis, settings, clock, payloadStore, deliveries };
  const batches = new RedisRowBatches(deps);
  return {
    held: new RedisHeldJobs(deps),
    batches,
    sweeps: new RedisSweeps(deps),
    tenants: new RedisTenantJobs(redis, settings),
    close: async () => {
      await batches.close();
      await deliveries.close();
      redis.disconnect();
    },
  };
}
