import type { Redis } from "ioredis";
import type { Lane } from "../admission/lane.js";
import { openLanes } from "../admission/open-lanes.js";
import { bounded, connectRedis } from "../redis.js";
import { JOB_SETTINGS, type JobSettings } from "../settings.js";

/** What the queues know of tenants. Errors: `queue_unavailable`. */
export interface TenantJobs {
  /** The share of the workers that a tenant has while others have work too, as against 1; over 0. Holds at once. */
  setWeight(tenant: string, weight: number): Promise<void>;
  /** Shares of those tenants whose share is not 1. */
  weights(tenants: readonly string[]): Promise<ReadonlyMap<string, number>>;
  close(): void;
}

/** Opens it over one connection. Returns at once, also when Redis is down. */
export function createTenantJobs(options: {
  /** As for `createJobClient`. */
  readonly redis: string;
  readonly settings?: Partial<JobSettings>;
}): TenantJobs {
  return new RedisTenantJobs(connectRedis(options.redis, "producer"), { ...JOB_SETTINGS, ...options.settings });
}

/** Over a connection that it closes only if it is told to. */
export class RedisTenantJobs implements TenantJobs {
  readonly #lanes: readonly Lane[];

  constructor(
    private readonly redis: Redis,
    private readonly settings: JobSettings,
  ) {
    this.#lanes = [...openLanes(redis, settings).values()];
  }

  async setWeight(tenant: string, weight: number): Promise<void> {
    await this.#call(() => Promise.all(this.#lanes.map((lane) => lane.setWeight(tenant, weight))));
  }

  async weights(tenants: readonly string[]): Promise<ReadonlyMap<string, number>> {
    const [lane] = this.#lanes;
    if (lane === undefined || tenants.length === 0) return new Map();
    return this.#call(() => lane.weights(tenants));
  }

  close(): void {
    this.redis.disconnect();
  }

  #call<T>(calls: () => Promise<T>): Promise<T> {
    return bounded(this.redis, this.settings, calls);
  }
}
