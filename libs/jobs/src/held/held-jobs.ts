import type { Redis } from "ioredis";
import type { Clock } from "#core";
import type { JobData } from "../job-data.js";
import { countDead, listLetter } from "../dead-letters.js";
import { blobKey, jobKeys, queueJobId, type JobKeys } from "../keys.js";
import { kindOf } from "../record.js";
import { bounded } from "../redis.js";
import { endAnswer, runScript } from "../scripts.js";
import { keepEnded, type JobSettings } from "../settings.js";
import type { JobError, PayloadStore } from "../types.js";
import type { DeliveryQueue } from "../webhooks/delivery-queue.js";

/** Names a job. */
export interface HeldJob {
  readonly tenant: string;
  readonly job: string;
  /** The job whose effects it waits for, where that is not itself: a replay has the effects of the first. */
  readonly waitsFor?: string;
}

/** How a held job ends. `completed`: with the result that it was held with. */
export type ReleaseOutcome =
  { readonly state: "completed" } | { readonly state: "failed" | "dead" | "cancelled"; readonly error: JobError };

/**
 * Jobs whose run is over and which wait for others. Any process may look after them; every method repeats safely.
 * Errors: `queue_unavailable`.
 */
export interface HeldJobs {
  /** At most `limit` held jobs that nobody looked at for `restMs` (default 0), those first that were looked at longest ago. */
  take(limit: number, restMs?: number): Promise<readonly HeldJob[]>;
  /** Tells how much is `left` of the job's total. A job that has ended is dropped from those that are looked at. */
  progress(job: HeldJob, left: number): Promise<void>;
  /** Ends a held job; waiters and streams hear of it. False if it was not held: it runs, or has ended. */
  release(job: HeldJob, outcome: ReleaseOutcome): Promise<boolean>;
}

/** The sorted set of the held jobs of a deployment, by when they were looked at. Lies in a slot of its own. */
export function heldKey(settings: Pick<JobSettings, "prefix">): string {
  return `{${settings.prefix}-held}:jobs`;
}

/** The entry of a job in that set. */
export function heldMember({ tenant, id, origin }: Pick<JobData, "tenant" | "id" | "origin">): string {
  return origin === undefined ? queueJobId(tenant, id) : `${queueJobId(tenant, id)}.${origin}`;
}

/** Held jobs in Redis. */
export class RedisHeldJobs implements HeldJobs {
  readonly #redis: Redis;
  readonly #settings: JobSettings;
  readonly #keys: JobKeys;
  readonly #clock: Clock;

  readonly #payloadStore: PayloadStore;
  readonly #deliveries: DeliveryQueue;

  constructor(deps: {
    readonly redis: Redis;
    readonly settings: JobSettings;
    readonly clock: Clock;
    readonly payloadStore: PayloadStore;
    readonly deliveries: DeliveryQueue;
  }) {
    this.#deliveries = deps.deliveries;
    this.#payloadStore = deps.payloadStore;
    this.#redis = deps.redis;
    this.#settings = deps.settings;
    this.#keys = jobKeys(deps.settings.prefix);
    this.#clock = deps.clock;
  }

  async take(limit: number, restMs = 0): Promise<readonly HeldJob[]> {
    const tokens = (await this.#call(() =>
      runScript(this.#redis, "heldTake", [heldKey(this.#settings)], [limit, restMs]),
    )) as readonly string[];
    return tokens.map((token) => {
      const [tenant = "", job = "", waitsFor] = token.split(".");
      return { tenant, job, ...(waitsFor !== undefined && { waitsFor }) };
    });
  }

  async progress(job: HeldJob, left: number): Promise<void> {
    const { eventsPerJob, keepQueuedMs } = this.#settings;
    const values = [eventsPerJob, keepQueuedMs, left];
    const answer = await this.#call(() => runScript(this.#redis, "jobHeldProgress", [this.#keyOf(job)], values));
    if (answer === "gone" || answer === "ended") await this.#drop(job);
  }

  async release(job: HeldJob, outcome: ReleaseOutcome): Promise<boolean> {
    const keep = keepEnded(this.#settings, outcome.state);
    const values = [
      ...[this.#clock.now(), this.#settings.eventsPerJob, keep.ms, outcome.state],
      ...[outcome.state === "completed" ? "" : JSON.stringify(outcome.error), keep.bytes],
    ];
    const end = async (): Promise<string> => {
      const { answer, webhooks } = endAnswer(
        await this.#call(() => runScript(this.#redis, "jobRelease", [this.#keyOf(job)], values)),
      );
      this.#deliveries.tellSoon(job.tenant, webhooks, this.#clock.now());
      return answer;
    };
    const answer = outcome.state === "dead" ? await this.#bury(job, end) : await end();
    if (answer === "ok, payload") await this.#payloadStore.delete(job.tenant, blobKey(job.job, "payload"));
    if (answer !== "running") await this.#drop(job);
    return answer === "ok" || answer === "ok, payload";
  }

  /** Ends a job that is to be found among the dead letters. One that is not held has no place there. */
  async #bury({ tenant, job }: HeldJob, end: () => Promise<string>): Promise<string> {
    const key = this.#keyOf({ tenant, job });
    const [constant, isHeld] = await this.#call(() => this.#redis.hmget(key, "job", "held"));
    if (typeof constant !== "string" || typeof isHeld !== "string") return end();
    const dead = { kind: kindOf(constant), tenant, id: job, diedAt: this.#clock.now() };
    await this.#call(() => listLetter(this.#redis, this.#settings, dead));
    const answer = await end();
    if (answer === "ok") await this.#call(() => countDead(this.#redis, this.#settings, dead));
    return answer;
  }

  async #drop({ tenant, job, waitsFor }: HeldJob): Promise<void> {
    const member = heldMember({ tenant, id: job, ...(waitsFor !== undefined && { origin: waitsFor }) });
    await this.#call(() => this.#redis.zrem(heldKey(this.#settings), member));
  }

  #keyOf({ tenant, job }: HeldJob): string {
    return this.#keys.job(tenant, job);
  }

  #call<T>(calls: () => Promise<T>): Promise<T> {
    return bounded(this.#redis, this.#settings, calls);
  }
}
