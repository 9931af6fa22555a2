import type { Redis } from "ioredis";
import { jobKeys, type JobKeys } from "../keys.js";
import { bounded, connectRedis } from "../redis.js";
import { JOB_SETTINGS, type JobSettings } from "../settings.js";
import type { JobKind, JobState } from "../types.js";

/** What became of a job in the end. */
export type JobOutcome = Exclude<JobState, "queued" | "active">;

/** The kinds of jobs that tenants submit, and that are counted. */
export const COUNTED_KINDS = ["query", "insert", "maintain"] as const satisfies readonly JobKind[];

/** How the jobs that are counted ended. */
export const JOB_OUTCOMES = ["completed", "failed", "dead", "cancelled"] as const satisfies readonly JobOutcome[];

/** What a tenant used on one day. */
export interface DayUsage {
  /** Since 1970, in UTC. */
  readonly day: number;
  readonly jobs: Readonly<Record<(typeof COUNTED_KINDS)[number], Readonly<Record<JobOutcome, number>>>>;
  /** Stored on that day, whatever became of it later. */
  readonly nodes: number;
  readonly bytes: number;
  readonly modelTokens: number;
}

/** Reads what tenants used. Errors: `queue_unavailable`. */
export interface UsageReader {
  /** The usage of each of some days, in their order; nothing used is zeros. One round trip. */
  days(tenant: string, days: readonly number[]): Promise<readonly DayUsage[]>;
  close(): void;
}

/** Opens it over one connection. Returns at once, also when Redis is down. */
export function createUsageReader(options: {
  /** As for `createJobClient`. */
  readonly redis: string;
  readonly settings?: Partial<JobSettings>;
}): UsageReader {
  return new RedisUsageReader(connectRedis(options.redis, "producer"), { ...JOB_SETTINGS, ...options.settings });
}

class RedisUsageReader implements UsageReader {
  readonly #keys: JobKeys;

  constructor(
    private readonly redis: Redis,
    private readonly settings: JobSettings,
  ) {
    this.#keys = jobKeys(settings.prefix);
  }

  days(tenant: string, days: readonly number[]): Promise<readonly DayUsage[]> {
    const usage = this.#keys.usage(tenant);
    return bounded(this.redis, this.settings, () =>
      Promise.all(days.map(async (day) => usageOf(day, await this.redis.hgetall(`${usage}:${day}`)))),
    );
  }

  close(): void {
    this.redis.disconnect();
  }
}

function usageOf(day: number, counters: Readonly<Record<string, string>>): DayUsage {
  const read = (name: string): number => Number(counters[name] ?? 0);
  const record = <Name extends string, Value>(names: readonly Name[], value: (name: Name) => Value) =>
    Object.fromEntries(names.map((name) => [name, value(name)])) as Record<Name, Value>;
  return {
    day,
    jobs: record(COUNTED_KINDS, (kind) => record(JOB_OUTCOMES, (outcome) => read(`${kind}:${outcome}`))),
    ...{ nodes: read("nodes"), bytes: read("bytes"), modelTokens: read("modelTokens") },
  };
}
