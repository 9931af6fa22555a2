import type { Redis } from "ioredis";
import { EspalierError, type TenantLimits } from "#core";
import { jobKeys } from "../keys.js";
import { bounded, connectRedis } from "../redis.js";
import { runScript } from "../scripts.js";
import { JOB_SETTINGS, type JobSettings } from "../settings.js";
import { tooManyKeys } from "./too-many-keys.js";

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
   * @throws EspalierError `idempotency_conflict`, `too_many_idempotency_keys` for a new key of a tenant that has too many
   */
  begin(request: KeyedRequest, effect: string): Promise<RequestTurn>;
  end(request: KeyedRequest, effect: string, answer: string): Promise<void>;
  /** The request had no end: the next one of its key takes it over. */
  abandon(request: KeyedRequest, effect: string): Promise<void>;
  /** The request did nothing: its key is free again, unless an earlier try may have done something. */
  refused(request: KeyedRequest, effect: string): Promise<void>;
  close(): Promise<void>;
}

/** Milliseconds after which a request without an end is taken for dead: no request but a job runs nearly as long. */
const LEASE_MS = 60_000;

/** Opens it over one connection. Returns at once, also when Redis is down. */
export function createRequestLedger(options: {
  /** As for `createJobClient`. */
  readonly redis: string;
  readonly settings?: Partial<JobSettings>;
  /** Keys that are remembered of a tenant. Absent: as many as come. */
  readonly limits?: (tenant: string) => Promise<Pick<TenantLimits, "idempotencyKeys">>;
}): RequestLedger {
  const settings = { ...JOB_SETTINGS, ...options.settings };
  return new RedisRequestLedger(connectRedis(options.redis, "producer"), settings, options.limits);
}

class RedisRequestLedger implements RequestLedger {
  constructor(
    private readonly redis: Redis,
    private readonly settings: JobSettings,
    private readonly limits: Parameters<typeof createRequestLedger>[0]["limits"],
  ) {}

  async begin(request: KeyedRequest, effect: string): Promise<RequestTurn> {
    const most = (await this.limits?.(request.tenant))?.idempotencyKeys;
    const values = [request.fingerprint, effect, LEASE_MS, this.settings.idempotencyMs, most ?? ""];
    const reply = (await this.#run("requestBegin", request, values)) as
      readonly ["full", number, number] | readonly ["run" | "done" | "running" | "conflict", string?];
    if (reply[0] === "full") throw tooManyKeys({ value: most, current: reply[1] }, reply[2]);
    const [outcome, value = ""] = reply;
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

  async refused(request: KeyedRequest, effect: string): Promise<void> {
    await this.#run("requestRefused", request, [effect]);
  }

  close(): Promise<void> {
    this.redis.disconnect();
    return Promise.resolve();
  }

  #run(
    script: "requestBegin" | "requestEnd" | "requestAbandon" | "requestRefused",
    { tenant, key }: KeyedRequest,
    values: readonly (string | number)[],
  ): Promise<unknown> {
    const keys = jobKeys(this.settings.prefix);
    const names = [keys.idempotency(tenant, key), keys.idempotencyCounts(tenant)];
    return bounded(this.redis, this.settings, () => runScript(this.redis, script, names, values));
  }
}
