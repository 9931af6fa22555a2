import type { Redis } from "ioredis";
import { LIMITS, type Clock } from "#core";
import { Sweeper } from "../admission/sweeper.js";
import { backOffMs } from "../back-off.js";
import { jobKeys, type JobKeys } from "../keys.js";
import { hashOf, recordOf } from "../record.js";
import { bounded, connectRedis } from "../redis.js";
import { runScript } from "../scripts.js";
import { JOB_SETTINGS, type JobSettings, type WebhookSettings } from "../settings.js";
import { DeliveryQueue, type WebhookRef } from "./delivery-queue.js";
import { readStored, type StoredWebhook } from "./stored-webhook.js";
import type { AttemptAnswer, DeliveryOutcome, DisabledReason, EndState, SendAttempt } from "./types.js";

/** HTTP: the receiver is gone for good, and asks not to be called any more. */
const GONE = 410;

/** What workers do about deliveries. Errors: `queue_unavailable`. */
export interface Deliveries {
  /**
   * A webhook's turn: sends what is due, a few at a time, until nothing is, its time is over or a request fails; then it
   * rests, and others have their turn. What was sent and not recorded, because the process died or the signal was aborted,
   * is sent again.
   */
  deliver(webhook: WebhookRef, signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

export interface DeliveriesOptions {
  /** As for `createJobClient`. */
  readonly redis: string;
  readonly clock: Clock;
  readonly send: SendAttempt;
  /** Hears what each try came to, and of each delivery that is given up without one. */
  readonly onOutcome?: (outcome: DeliveryOutcome) => void;
  readonly settings?: Partial<JobSettings>;
}

/** Opens them over one connection, and has webhooks whose time has come put into the queue from now on. */
export function createDeliveries(options: DeliveriesOptions): Deliveries {
  return new RedisDeliveries(options);
}

class RedisDeliveries implements Deliveries {
  readonly #redis: Redis;
  readonly #keys: JobKeys;
  readonly #settings: JobSettings;
  readonly #clock: Clock;
  readonly #send: SendAttempt;
  readonly #onOutcome: (outcome: DeliveryOutcome) => void;
  readonly #queue: DeliveryQueue;
  readonly #sweepers: readonly Sweeper[];

  constructor(options: DeliveriesOptions) {
    this.#settings = { ...JOB_SETTINGS, ...options.settings };
    this.#keys = jobKeys(this.#settings.prefix);
    this.#redis = connectRedis(options.redis, "producer");
    this.#clock = options.clock;
    this.#send = options.send;
    this.#onOutcome = options.onOutcome ?? (() => undefined);
    this.#queue = new DeliveryQueue(this.#redis, this.#settings);
    const { sweepMs, webhooks } = this.#settings;
    this.#sweepers = [
      new Sweeper(() => this.#call(() => this.#queue.sweep(this.#clock.now())), sweepMs),
      // Not bounded by the time of one call: it looks at every webhook.
      new Sweeper(() => this.#queue.audit(), webhooks.auditMs),
    ];
  }

  async deliver(ref: WebhookRef, signal: AbortSignal): Promise<void> {
    await this.#call(() => this.#queue.take(ref));
    const until = this.#clock.now() + this.#settings.webhooks.turnMs;
    let restMs = 0;
    while (restMs === 0 && this.#clock.now() < until) {
      const due = (await this.#script("deliveriesDue", ref, [LIMITS.webhookRequests])) as readonly string[];
      if (due.length === 0) break;
      const rests = await Promise.all(due.map((event) => this.#attempt(ref, event, signal)));
      restMs = Math.max(...rests);
    }
    const earliest = await this.#call(() => this.#queue.earliest(ref));
    if (earliest === undefined) return;
    await this.#call(() => this.#queue.plan(ref, Math.max(earliest, this.#clock.now() + restMs)));
  }

  async close(): Promise<void> {
    for (const sweeper of this.#sweepers) sweeper.stop();
    await this.#queue.close();
    this.#redis.disconnect();
  }

  /** Answers how long the webhook is to rest; 0 after a success, or where there was nothing to send. */
  async #attempt(ref: WebhookRef, event: string, signal: AbortSignal): Promise<number> {
    const settings = this.#settings.webhooks;
    const begun = await this.#script("deliveryBegin", ref, [event, settings.attempts]);
    const [text, attempt, jobState, createdAt, record, job = ""] = begun as readonly [
      string?,
      number?,
      ...(string | undefined)[],
    ];
    if (text === "") this.#onOutcome("dead");
    if (text === undefined || attempt === undefined || record === undefined) return 0;
    const stored = readStored(text);
    const now = this.#clock.now();
    const secrets = stored.secrets.filter(({ until = Infinity }) => until > now).map(({ sealed }) => sealed);
    const answer = await this.#send(
      {
        ...{ url: stored.url, secrets, id: event, event: jobState as EndState, at: Number(createdAt) },
        record: recordOf({ tenant: ref.tenant, id: job }, hashOf(JSON.parse(record) as string[]) ?? {}),
      },
      signal,
    );
    const outcome = outcomeOf(answer, attempt, settings);
    const values = [event, attempt, outcome, answer.status ?? "", answer.error ?? ""];
    const [failures, failingMs] = (await this.#script("deliverySettle", ref, values)) as readonly [number, number];
    this.#onOutcome(typeof outcome === "number" ? "retried" : outcome);
    if (outcome === "delivered") return 0;
    if (answer.status === GONE) await this.#disable(ref, text, stored, "gone");
    else if (failingMs >= settings.disableAfterMs) await this.#disable(ref, text, stored, "failing");
    return backOffMs({ baseMs: settings.restBaseMs, maxMs: settings.restMaxMs }, failures, Math.random());
  }

  /** One that was changed meanwhile is left alone: perhaps it was mended. */
  async #disable(ref: WebhookRef, text: string, stored: StoredWebhook, reason: DisabledReason): Promise<void> {
    const disabled: StoredWebhook = { ...stored, disabled: { reason, at: this.#clock.now() } };
    await this.#script("webhookReplace", ref, [text, JSON.stringify(disabled), ""]);
  }

  #script(
    name: "deliveriesDue" | "deliveryBegin" | "deliverySettle" | "webhookReplace",
    { tenant, webhook }: WebhookRef,
    values: readonly (string | number)[],
  ): Promise<unknown> {
    return this.#call(() => runScript(this.#redis, name, [this.#keys.webhooks(tenant)], [webhook, ...values]));
  }

  #call<T>(calls: () => Promise<T>): Promise<T> {
    return bounded(this.#redis, this.#settings, calls);
  }
}

/** `delivered`, `dead`, or the milliseconds until the next request. */
function outcomeOf(
  { status = 0 }: AttemptAnswer,
  attempt: number,
  { attempts, retryBaseMs, retryMaxMs }: WebhookSettings,
): "delivered" | "dead" | number {
  if (status >= 200 && status < 300) return "delivered";
  if (attempt >= attempts || status === GONE) return "dead";
  return backOffMs({ baseMs: retryBaseMs, maxMs: retryMaxMs }, attempt, Math.random());
}
