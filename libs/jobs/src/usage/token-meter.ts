import { randomUUID } from "node:crypto";
import type { Redis } from "ioredis";
import { Sweeper } from "../admission/sweeper.js";
import { jobKeys, type JobKeys } from "../keys.js";
import { bounded, connectRedis } from "../redis.js";
import { runScript } from "../scripts.js";
import { JOB_SETTINGS, type JobSettings } from "../settings.js";

/** How often tokens are written: a process that dies loses those of a second. */
const PACE_MS = 1_000;

/** How long Redis remembers the last step of a process: longer than any step is sent again. */
const MARK_MS = 3_600_000;

/** Tokens of a tenant that were handed over for writing, and perhaps written. */
interface Step {
  readonly tenant: string;
  readonly tokens: number;
  readonly number: number;
}

/**
 * Counts the tokens that models read for tenants. A step whose answer got lost is sent again and counts once; what a process
 * had not written when it died is lost.
 */
export interface TokenMeter {
  spent(tenant: string, tokens: number): void;
  /** Writes what there is, and closes. */
  close(): Promise<void>;
}

/** Opens it over one connection. Returns at once, also when Redis is down: tokens wait for it. */
export function createTokenMeter(options: {
  /** As for `createJobClient`. */
  readonly redis: string;
  readonly settings?: Partial<JobSettings>;
}): TokenMeter {
  return new RedisTokenMeter(connectRedis(options.redis, "producer"), { ...JOB_SETTINGS, ...options.settings });
}

class RedisTokenMeter implements TokenMeter {
  readonly #redis: Redis;
  readonly #settings: JobSettings;
  readonly #keys: JobKeys;
  readonly #process = randomUUID();
  readonly #sweeper: Sweeper;
  /** Not yet handed over; bounded by the tenants that a process works for. */
  readonly #fresh = new Map<string, number>();
  #steps: readonly Step[] = [];
  #number = 0;
  #writing: Promise<void> = Promise.resolve();

  constructor(redis: Redis, settings: JobSettings) {
    this.#redis = redis;
    this.#settings = settings;
    this.#keys = jobKeys(settings.prefix);
    this.#sweeper = new Sweeper(() => this.#write(), PACE_MS);
  }

  spent(tenant: string, tokens: number): void {
    if (tokens > 0) this.#fresh.set(tenant, (this.#fresh.get(tenant) ?? 0) + tokens);
  }

  async close(): Promise<void> {
    this.#sweeper.stop();
    await this.#write().catch(ignore);
    this.#redis.disconnect();
  }

  /** One at a time: a step that is under way must not be sent beside itself. */
  #write(): Promise<void> {
    this.#writing = this.#writing.catch(ignore).then(() => this.#writeSteps());
    return this.#writing;
  }

  /** What was handed over goes first, under its old numbers; a failure leaves the rest for the next time. */
  async #writeSteps(): Promise<void> {
    if (this.#steps.length === 0) this.#handOver();
    for (let step = this.#steps[0]; step !== undefined; step = this.#steps[0]) {
      await this.#send(step);
      this.#steps = this.#steps.slice(1);
    }
  }

  #handOver(): void {
    this.#number += 1;
    this.#steps = Array.from(this.#fresh, ([tenant, tokens]) => ({ tenant, tokens, number: this.#number }));
    this.#fresh.clear();
  }

  async #send({ tenant, tokens, number }: Step): Promise<void> {
    const usage = this.#keys.usage(tenant);
    await bounded(this.#redis, this.#settings, () =>
      runScript(this.#redis, "usageSpend", [usage, `${usage}:mark:${this.#process}`], [number, tokens, MARK_MS]),
    );
  }
}

function ignore(): void {
  // The next writing sends it again; a process that ends without a Redis loses it.
}
