import type { Redis } from "ioredis";
import { jobKeys } from "../keys.js";
import { bounded, connectRedis } from "../redis.js";
import { runScript } from "../scripts.js";
import { JOB_SETTINGS, type JobSettings } from "../settings.js";

/** How often a tenant may ask. */
export interface RequestLimit {
  /** Tokens that come back in a second; may be a fraction. */
  readonly requestsPerSecond: number;
  /** Tokens of a full bucket: what may come at once after a rest. At least 1. */
  readonly burst: number;
}

/** What became of one request, and how the bucket is now. */
export interface RequestTaken {
  readonly allowed: boolean;
  /** Requests that may come at once after this one. */
  readonly remaining: number;
  /** Milliseconds until one more may come. */
  readonly nextMs: number;
  /** Milliseconds until the bucket is full. */
  readonly fullMs: number;
}

/** Token buckets that all processes share, one a tenant. */
export interface RequestLimiter {
  /**
   * Takes a token of the tenant's bucket if there is one. One round trip.
   * @throws EspalierError `queue_unavailable`
   */
  take(tenant: string, limit: RequestLimit): Promise<RequestTaken>;
  close(): Promise<void>;
}

/** A limiter that hesitates costs each request more than it is worth: it is asked on every one. */
const CALL = { callTimeoutMs: 500, connectGraceMs: 0 } as const;

/** Opens it over one connection. Returns at once, also when Redis is down. */
export function createRequestLimiter(options: {
  /** As for `createJobClient`. */
  readonly redis: string;
  readonly settings?: Partial<JobSettings>;
}): RequestLimiter {
  const { prefix } = { ...JOB_SETTINGS, ...options.settings };
  return new RedisRequestLimiter(connectRedis(options.redis, "producer"), prefix);
}

class RedisRequestLimiter implements RequestLimiter {
  constructor(
    private readonly redis: Redis,
    private readonly prefix: string,
  ) {}

  async take(tenant: string, { requestsPerSecond, burst }: RequestLimit): Promise<RequestTaken> {
    const bucket = jobKeys(this.prefix).bucket(tenant);
    const reply = await bounded(this.redis, CALL, () =>
      runScript(this.redis, "requestTake", [bucket], [requestsPerSecond, burst]),
    );
    const [taken, remaining, nextMs, fullMs] = reply as readonly [number, number, number, number];
    return { allowed: taken === 1, remaining, nextMs, fullMs };
  }

  close(): Promise<void> {
    this.redis.disconnect();
    return Promise.resolve();
  }
}
