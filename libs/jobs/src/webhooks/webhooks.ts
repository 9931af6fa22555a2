import type { Redis } from "ioredis";
import { EspalierError, LIMITS, RETENTION_SECONDS, type Clock } from "#core";
import { jobKeys, type JobKeys } from "../keys.js";
import { bounded, connectRedis } from "../redis.js";
import { runScript } from "../scripts.js";
import { JOB_SETTINGS, type JobSettings } from "../settings.js";
import { DeliveryQueue } from "./delivery-queue.js";
import type { SecretBox } from "./secret-box.js";
import { newWebhookSecret } from "./sign.js";
import { deliveryOf, readStored, shownWebhook, type StoredWebhook } from "./stored-webhook.js";
import type { Delivery, Webhook, WebhookWish } from "./types.js";

/** Changes of one webhook at the same time that are tried again: each try lost against another that won. */
const CHANGE_TRIES = 20;

/** Secrets before the newest that still sign. */
const SECRETS_BEFORE = 2;

/** Deliveries of a log that are read at once. */
const LOG_CHUNK = 100;

/** What a PATCH changes; `null` takes away. */
export interface WebhookChange extends Partial<Omit<WebhookWish, "name" | "memory">> {
  readonly name?: string | null;
  readonly memory?: string | null;
  readonly enabled?: boolean;
}

/** A webhook with its secret, which is shown once. */
export interface WebhookWithSecret {
  readonly webhook: Webhook;
  readonly secret: string;
}

/**
 * The webhooks of tenants, beside the jobs in Redis: what is to be told of a job is written with its end. Another tenant's
 * webhook is `webhook_not_found`. Errors: `queue_unavailable`.
 */
export interface Webhooks {
  /**
   * Makes a webhook under an id; a second call with the same id makes it anew.
   * @throws EspalierError `too_many_webhooks`
   */
  create(tenant: string, id: string, wish: WebhookWish): Promise<WebhookWithSecret>;
  /** All of a tenant, newest first: they are few. */
  list(tenant: string): Promise<readonly Webhook[]>;
  get(tenant: string, id: string): Promise<Webhook>;
  /** Enabling, and another URL, forget the failures until then. */
  change(tenant: string, id: string, change: WebhookChange): Promise<Webhook>;
  /** A new secret. The one before signs as well for a day, so that receivers can follow. */
  rotate(tenant: string, id: string): Promise<WebhookWithSecret>;
  /** Removes a webhook with its deliveries; pending ones are not sent any more. */
  remove(tenant: string, id: string): Promise<void>;
  /** The log, the latest end of a job first. `after` is the id of the last one of the page before. */
  deliveries(
    tenant: string,
    id: string,
    query: { readonly state?: Delivery["state"]; readonly limit: number; readonly after?: string },
  ): Promise<readonly Delivery[]>;
  /**
   * Sends a delivery again, now, whatever became of it; the receiver sees the same id.
   * @throws EspalierError `delivery_not_found`, `webhook_disabled`
   */
  redeliver(tenant: string, id: string, delivery: string): Promise<Delivery>;
  /** Milliseconds for which the webhook that waits longest has had something to send, of all tenants; 0 if none has. */
  overdueMs(): Promise<number>;
  close(): Promise<void>;
}

/** Opens them over one connection. Returns at once, also when Redis is down. */
export function createWebhooks(options: {
  /** As for `createJobClient`. */
  readonly redis: string;
  readonly clock: Clock;
  /** Keeps the secrets. */
  readonly box: SecretBox;
  readonly settings?: Partial<JobSettings>;
}): Webhooks {
  return new RedisWebhooks(options);
}

class RedisWebhooks implements Webhooks {
  readonly #redis: Redis;
  readonly #keys: JobKeys;
  readonly #settings: JobSettings;
  readonly #clock: Clock;
  readonly #box: SecretBox;
  readonly #queue: DeliveryQueue;

  constructor(options: Parameters<typeof createWebhooks>[0]) {
    this.#settings = { ...JOB_SETTINGS, ...options.settings };
    this.#keys = jobKeys(this.#settings.prefix);
    this.#redis = connectRedis(options.redis, "producer");
    this.#clock = options.clock;
    this.#box = options.box;
    this.#queue = new DeliveryQueue(this.#redis, this.#settings);
  }

  async create(tenant: string, id: string, wish: WebhookWish): Promise<WebhookWithSecret> {
    const secret = newWebhookSecret();
    const made: StoredWebhook = {
      ...wish,
      createdAt: this.#clock.now(),
      secrets: [{ sealed: this.#box.seal(secret) }],
    };
    await this.#call(() => this.#queue.list({ tenant, webhook: id }));
    const added = await this.#script("webhookAdd", tenant, [id, JSON.stringify(made), LIMITS.webhooks]);
    if (added === 0) {
      throw new EspalierError("too_many_webhooks", `The tenant has ${LIMITS.webhooks} webhooks already.`);
    }
    return { webhook: shownWebhook(id, made, {}), secret };
  }

  async list(tenant: string): Promise<readonly Webhook[]> {
    const texts = await this.#call(() => this.#redis.hgetall(this.#keys.webhooks(tenant)));
    const shown = Object.entries(texts).map(([id, text]) => this.#shown(tenant, id, readStored(text)));
    return (await Promise.all(shown)).toSorted((one, other) => (one.id < other.id ? 1 : -1));
  }

  async get(tenant: string, id: string): Promise<Webhook> {
    return this.#shown(tenant, id, (await this.#read(tenant, id)).stored);
  }

  async change(tenant: string, id: string, change: WebhookChange): Promise<Webhook> {
    const { enabled, ...wish } = change;
    const forgives = enabled === true || wish.url !== undefined;
    const changed = await this.#replace(tenant, id, forgives, (stored) => {
      const { disabled, ...kept } = stored;
      const now = disabled ?? { reason: "asked" as const, at: this.#clock.now() };
      const stays = enabled === undefined ? disabled : enabled ? undefined : now;
      const merged = Object.entries({ ...kept, ...wish, ...(stays !== undefined && { disabled: stays }) });
      return Object.fromEntries(merged.filter(([, value]) => value !== null)) as unknown as StoredWebhook;
    });
    return this.#shown(tenant, id, changed);
  }

  async rotate(tenant: string, id: string): Promise<WebhookWithSecret> {
    const secret = newWebhookSecret();
    const sealed = this.#box.seal(secret);
    const until = this.#clock.now() + RETENTION_SECONDS.webhookSecret * 1_000;
    const changed = await this.#replace(tenant, id, false, (stored) => {
      // Also the one before that, while it lasts: a rotation whose answer was lost must not end the one that is in use.
      const before = stored.secrets.map((secret) => ({ ...secret, until: secret.until ?? until }));
      return { ...stored, secrets: [{ sealed }, ...before.slice(0, SECRETS_BEFORE)] };
    });
    return { webhook: await this.#shown(tenant, id, changed), secret };
  }

  async remove(tenant: string, id: string): Promise<void> {
    if ((await this.#script("webhookRemove", tenant, [id])) === 0) throw webhookNotFound();
  }

  async deliveries(
    tenant: string,
    id: string,
    { state, limit, after }: Parameters<Webhooks["deliveries"]>[2],
  ): Promise<readonly Delivery[]> {
    await this.#read(tenant, id);
    const log = `${this.#keys.webhooks(tenant)}:${id}:log`;
    const found: Delivery[] = [];
    const rank = after === undefined ? -1 : await this.#call(() => this.#redis.zrevrank(log, after));
    // They leave from the old end only: one that is no longer there was the last.
    if (rank === null) return found;
    // Bounded by webhookDeliveries.
    for (let from = rank + 1; ; from += LOG_CHUNK) {
      const ids = await this.#call(() => this.#redis.zrevrange(log, from, from + LOG_CHUNK - 1));
      const hashes = await Promise.all(ids.map((event) => this.#delivery(tenant, id, event)));
      for (const delivery of hashes) {
        if (delivery === undefined || (state !== undefined && delivery.state !== state)) continue;
        found.push(delivery);
        if (found.length === limit) return found;
      }
      if (ids.length < LOG_CHUNK) return found;
    }
  }

  async redeliver(tenant: string, id: string, event: string): Promise<Delivery> {
    const { stored } = await this.#read(tenant, id);
    if (stored.disabled !== undefined) {
      throw new EspalierError("webhook_disabled", "Nothing is sent to a webhook that is disabled.", {
        details: { disabled: stored.disabled.reason },
      });
    }
    const again = await this.#script("deliveryAgain", tenant, [id, event]);
    const delivery = again === 0 ? undefined : await this.#delivery(tenant, id, event);
    if (delivery === undefined) throw new EspalierError("delivery_not_found", "There is no such delivery.");
    await this.#call(() => this.#queue.tell(tenant, [id], this.#clock.now()));
    return delivery;
  }

  overdueMs(): Promise<number> {
    return this.#call(() => this.#queue.overdueMs(this.#clock.now()));
  }

  async close(): Promise<void> {
    await this.#queue.close();
    this.#redis.disconnect();
  }

  async #shown(tenant: string, id: string, stored: StoredWebhook): Promise<Webhook> {
    const health = await this.#call(() => this.#redis.hgetall(`${this.#keys.webhooks(tenant)}:${id}:health`));
    return shownWebhook(id, stored, health);
  }

  async #read(tenant: string, id: string): Promise<{ readonly text: string; readonly stored: StoredWebhook }> {
    const text = await this.#call(() => this.#redis.hget(this.#keys.webhooks(tenant), id));
    if (text === null) throw webhookNotFound();
    return { text, stored: readStored(text) };
  }

  async #delivery(tenant: string, id: string, event: string): Promise<Delivery | undefined> {
    const key = `${this.#keys.webhooks(tenant)}:${id}:delivery:${event}`;
    const hash = await this.#call(() => this.#redis.hgetall(key));
    return hash["state"] === undefined ? undefined : deliveryOf(hash);
  }

  async #replace(
    tenant: string,
    id: string,
    forgives: boolean,
    make: (stored: StoredWebhook) => StoredWebhook,
  ): Promise<StoredWebhook> {
    for (let tries = 0; tries < CHANGE_TRIES; tries += 1) {
      const { text, stored } = await this.#read(tenant, id);
      const changed = make(stored);
      const values = [id, text, JSON.stringify(changed), forgives ? "forgive" : ""];
      if ((await this.#script("webhookReplace", tenant, values)) === 1) return changed;
    }
    throw new EspalierError("queue_unavailable", "The webhook is changed by many at once.");
  }

  #script(
    name: "webhookAdd" | "webhookReplace" | "webhookRemove" | "deliveryAgain",
    tenant: string,
    values: readonly (string | number)[],
  ): Promise<unknown> {
    return this.#call(() => runScript(this.#redis, name, [this.#keys.webhooks(tenant)], values));
  }

  #call<T>(calls: () => Promise<T>): Promise<T> {
    return bounded(this.#redis, this.#settings, calls);
  }
}

function webhookNotFound(): EspalierError {
  return new EspalierError("webhook_not_found", "There is no such webhook.");
}
