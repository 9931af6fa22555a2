import type { Redis } from "ioredis";
import { EspalierError } from "#core";
import { jobKeys } from "../keys.js";
import { bounded, connectRedis } from "../redis.js";
import { runScript } from "../scripts.js";
import { JOB_SETTINGS, type JobSettings } from "../settings.js";

/** A request under an idempotency key. */
export interface KeyedRequest {
  readonly tenant: string;
  readonly key: string;
  /** Of what is asked: the same key with another one is a conflict. */
  readonly fingerprint: string;
}

/** What to do about a request: run it under an id, wait for the one that runs, or answer what it answered. */
export type RequestTurn =
  | { readonly turn: "run"; readonly effect: string }
  | { readonly turn: "wait" }
  | { readonly turn: "done"; readonly answer: string };

/** Requests that take effect once under their keys, for 24 h. Errors: `queue_unavailable`. */
export interface RequestLedger {
  /**
   * `effect` is used if the request is the first of its key.
   * @throws EspalierError `idempotency_conflict`
   */
  begin(request: KeyedRequest, effect: string): Promise<RequestTurn>;
  end(request: KeyedRequest, effect: string, answer: string): Promise<void>;
  /** The request had no end: the next one of its key takes it over. */
  abandon(request: KeyedRequest, effect: string): Promise<void>;
  close(): Promise<void>;
}

/** Milliseconds after which a request without an end is taken for dead: no request but a job runs nearly as long. */
const LEASE_MS = 60_000;

/** Opens it over one connection. Returns at once, also when Redis is down. */
export function createRequestLedger(options: {
  /** As for `createJobClient`. */
  readonly redis: string;
  readonly settings?: Partial<JobSettings>;
}): RequestLedger {
  return new RedisRequestLedger(connectRedis(options.redis, "producer"), { ...JOB_SETTINGS, ...options.settings });
}

class RedisRequestLedger implements RequestLedger {
  constructor(
    private readonly redis: Redis,
    private readonly settings: JobSettings,
  ) {}

  async begin(request: KeyedRequest, effect: string): Promise<RequestTurn> {
    const values = [request.fingerprint, effect, LEASE_MS, this.settings.idempotencyMs];
    const reply = await this.#run("requestBegin", request, values);
    const [outcome, value = ""] = reply as readonly ["run" | "done" | "running" | "conflict", string?];
    switch (outcome) {
      case "run":
        return { turn: "run", effect: value };
      case "done":
        return { turn: "done", answer: value };
      case "running":
        return { turn: "wait" };
      case "conflict":
        throw new EspalierError("idempotency_conflict", "The Idempotency-Key was used with another request.");
    }
  }

  async end(request: KeyedRequest, effect: string, answer: string): Promise<void> {
    await this.#run("requestEnd", request, [effect, answer]);
  }

  async abandon(request: KeyedRequest, effect: string): Promise<void> {
    await this.#run("requestAbandon", request, [effect]);
  }

  close(): Promise<void> {
    this.redis.disconnect();
    return Promise.resolve();
  }

  #run(
    script: "requestBegin" | "requestEnd" | "requestAbandon",
    { tenant, key }: KeyedRequest,
    values: readonly (string | number)[],
  ): Promise<unknown> {
    const entry = jobKeys(this.settings.prefix).idempotency(tenant, key);
    return bounded(this.redis, this.settings, () => runScript(this.redis, script, [entry], values));
  }
}
