import type { Queue } from "bullmq";
import type { Redis } from "ioredis";
import type { Clock } from "#core";
import type { JobData } from "../job-data.js";
import type { JobName } from "../job-names.js";
import { jobKeys, queueJobId } from "../keys.js";
import { openQueue } from "../open-queue.js";
import type { EmbedRowsPayload } from "../payloads.js";
import { bounded } from "../redis.js";
import type { JobSettings } from "../settings.js";

/** How busy the score workers are with claims. */
export interface ScoreLoad {
  readonly waiting: number;
  readonly active: number;
}

/**
 * Claims of outbox rows on their way to the score workers. They belong to no tenant, so they pass by admission and have no
 * status; the rows tell what is done. Errors: `queue_unavailable`.
 */
export interface RowBatches {
  submit(claim: string): Promise<void>;
  load(): Promise<ScoreLoad>;
}

const NAME = "embed-rows" satisfies JobName;

/** The queue of the claims as the relay sees it. */
export class RedisRowBatches implements RowBatches {
  readonly #redis: Redis;
  readonly #settings: JobSettings;
  readonly #clock: Clock;
  readonly #queue: Queue<JobData>;

  constructor(deps: { readonly redis: Redis; readonly settings: JobSettings; readonly clock: Clock }) {
    this.#redis = deps.redis;
    this.#settings = deps.settings;
    this.#clock = deps.clock;
    this.#queue = openQueue(deps.redis, jobKeys(deps.settings.prefix), deps.settings, "rows");
  }

  async submit(claim: string): Promise<void> {
    const payload: EmbedRowsPayload = { task: NAME, claim };
    const data: JobData = { tenant: "", memory: "", id: claim, createdAt: this.#clock.now(), payload };
    await this.#call(() => this.#queue.add(NAME, data, { jobId: queueJobId("", claim) }));
  }

  async load(): Promise<ScoreLoad> {
    const counts = await this.#call(() => this.#queue.getJobCounts("waiting", "active"));
    return { waiting: counts["waiting"] ?? 0, active: counts["active"] ?? 0 };
  }

  async close(): Promise<void> {
    await this.#queue.close().catch(ignore);
  }

  #call<T>(calls: () => Promise<T>): Promise<T> {
    return bounded(this.#redis, this.#settings, calls);
  }
}

function ignore(): void {
  // Connection errors reach the caller through the call that fails.
}
