import type { Queue } from "bullmq";
import type { Redis } from "ioredis";
import type { JobData } from "../job-data.js";
import type { JobName } from "../job-names.js";
import { jobKeys, queueJobId, type JobKeys } from "../keys.js";
import { openQueue } from "../open-queue.js";
import type { JobSettings } from "../settings.js";

const NAME = "deliver" satisfies JobName;

/** Webhooks that one sweep puts into the queue, or one step of an audit looks at. */
const CHUNK = 200;

/** A webhook of a tenant. */
export interface WebhookRef {
  readonly tenant: string;
  readonly webhook: string;
}

/**
 * The queue of webhooks that have something to deliver. A job is a webhook's turn, and there is at most one of each, so that
 * one with a flood of deliveries, or a slow one, takes one slot and no more. `webhookTimes` says when a webhook is to be
 * looked at next; what it does not know of because a process died is found by an audit of all webhooks.
 */
export class DeliveryQueue {
  readonly #redis: Redis;
  readonly #keys: JobKeys;
  readonly #queue: Queue<JobData>;

  constructor(redis: Redis, settings: JobSettings) {
    this.#redis = redis;
    this.#keys = jobKeys(settings.prefix);
    this.#queue = openQueue(redis, this.#keys, settings, "deliver");
  }

  /** As `tell`, without waiting: what fails is made up for by an audit. */
  tellSoon(tenant: string, webhooks: readonly string[], now: number): void {
    this.tell(tenant, webhooks, now).catch(ignore);
  }

  /** These have something to deliver now. */
  async tell(tenant: string, webhooks: readonly string[], now: number): Promise<void> {
    if (webhooks.length === 0) return;
    const refs = webhooks.map((webhook) => ({ tenant, webhook }));
    // The time first: where the job is running already, adding it changes nothing, and the next sweep adds it again.
    for (const ref of refs) await this.plan(ref, now);
    await this.#add(refs, now);
  }

  /** A webhook is to be looked at again at a time; an earlier one stays. */
  async plan({ tenant, webhook }: WebhookRef, at: number): Promise<void> {
    await this.#redis.zadd(this.#keys.webhookTimes, "LT", at, queueJobId(tenant, webhook));
  }

  /** A webhook's turn begins: whoever plans it from now on is heard by a later sweep. */
  async take({ tenant, webhook }: WebhookRef): Promise<void> {
    await this.#redis.zrem(this.#keys.webhookTimes, queueJobId(tenant, webhook));
  }

  /** When the first of a webhook's pending deliveries is due; undefined if it has none. */
  async earliest({ tenant, webhook }: WebhookRef): Promise<number | undefined> {
    const [, time] = await this.#redis.zrange(`${this.#keys.webhooks(tenant)}:${webhook}:due`, 0, "0", "WITHSCORES");
    return time === undefined ? undefined : Number(time);
  }

  /** Milliseconds by which the webhook that waits longest is past its time; 0 if none is. */
  async overdueMs(now: number): Promise<number> {
    const [, time] = await this.#redis.zrange(this.#keys.webhookTimes, 0, "0", "WITHSCORES");
    return time === undefined ? 0 : Math.max(0, now - Number(time));
  }

  /** There is a new webhook. To be told before it is made: one too many is found by an audit. */
  async list({ tenant, webhook }: WebhookRef): Promise<void> {
    await this.#redis.sadd(this.#keys.webhookList, queueJobId(tenant, webhook));
  }

  /** Puts the webhooks whose time has come into the queue. */
  async sweep(now: number): Promise<void> {
    const tokens = await this.#redis.zrangebyscore(this.#keys.webhookTimes, "-inf", now, "LIMIT", 0, CHUNK);
    await this.#add(tokens.map(refOf), now);
  }

  /** Plans all webhooks with pending deliveries, and forgets those that are gone. O(webhooks of the deployment). */
  async audit(): Promise<void> {
    let cursor = "0";
    do {
      const [next, tokens] = await this.#redis.sscan(this.#keys.webhookList, cursor, "COUNT", CHUNK);
      await Promise.all(tokens.map((token) => this.#audit(token)));
      cursor = next;
    } while (cursor !== "0");
  }

  async close(): Promise<void> {
    await this.#queue.close().catch(ignore);
  }

  async #audit(token: string): Promise<void> {
    const ref = refOf(token);
    const [known, earliest] = await Promise.all([
      this.#redis.hexists(this.#keys.webhooks(ref.tenant), ref.webhook),
      this.earliest(ref),
    ]);
    if (known === 0) await this.#redis.srem(this.#keys.webhookList, token);
    else if (earliest !== undefined) await this.plan(ref, earliest);
  }

  async #add(refs: readonly WebhookRef[], createdAt: number): Promise<void> {
    if (refs.length === 0) return;
    await this.#queue.addBulk(
      refs.map(({ tenant, webhook }) => ({
        name: NAME,
        data: { tenant, memory: "", id: webhook, createdAt, payload: { task: NAME } },
        // Gone however it ends, so that the next turn can have the same id.
        opts: { jobId: queueJobId(tenant, webhook), removeOnFail: true },
      })),
    );
  }
}

function refOf(token: string): WebhookRef {
  const [tenant = "", webhook = ""] = token.split(".");
  return { tenant, webhook };
}

function ignore(): void {
  // Connection errors reach the caller through the call that fails; what was not told is found by an audit.
}
