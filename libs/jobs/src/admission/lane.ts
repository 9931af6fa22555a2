import type { Redis } from "ioredis";
import { EspalierError, type TenantLimits } from "#core";
import type { LaneScript } from "./lane-scripts.js";

/** Interactive work never waits behind batch work: each lane has its own window and its own round of tenants. */
export type LaneName = "interactive" | "batch";

/** A queue never runs dry between two dispatches, and what waits there is soon overtaken by nobody. */
const WINDOW_PER_SLOT = 2;

/** Tenants among which the oldest waiting job is looked for: a scrape must not hold Redis up. */
const OLDEST_TENANTS = 1_000;

/** How a lane is kept. */
export interface LaneSettings {
  /** Jobs in flight, in their queue or running, at least; with more workers it is twice what they run at once. */
  readonly window: number;
  /** Of these, one tenant's at most, even when it is alone, unless its own limits say otherwise. */
  readonly tenantInFlight: number;
  /** Tokens that one turn of a tenant of weight 1 adds. */
  readonly quantum: number;
  /** Jobs of a tenant that wait at most, and their bytes, unless its own limits say otherwise. */
  readonly tenantJobs: number;
  readonly tenantBytes: number;
  /** Jobs released by one call at most: the call stays short. */
  readonly releases: number;
  /** A release that nobody has acknowledged for so long is made again. */
  readonly resendMs: number;
  /** A job in flight for so long is looked after: its end may have been lost. */
  readonly lostMs: number;
  /** Jobs that one sweep looks at. */
  readonly sweepJobs: number;
}

/** What a tenant may have in a lane. A limit that is absent does not exist. */
export type QueueLimits = Pick<TenantLimits, "queuedJobs" | "queuedBytes" | "inFlight">;

/** A job that waits for its turn. */
export interface Envelope {
  readonly id: string;
  readonly tenant: string;
  /** Estimated tokens of work; at least 1. */
  readonly cost: number;
  /** At most one job of a key is in flight, in the order of their submits. */
  readonly order?: string;
  /** What is needed to add it to its queue. */
  readonly data: string;
  /** When it was submitted; milliseconds since the epoch. */
  readonly createdAt: number;
  /** Those of the tenant; absent: the lane's. `inFlight` holds for all of the tenant's jobs from now on. */
  readonly limits?: QueueLimits | undefined;
}

/** A job whose turn it is: the caller adds it to its queue, then acknowledges. */
export interface Released {
  readonly id: string;
  readonly data: string;
}

/**
 * One lane of admission (see lane-scripts.ts). Each method is one script: one round trip. Any process may call any of them
 * at any time. What is released is the caller's to add; `acknowledge` says that it did.
 */
export class Lane {
  readonly #redis: Redis;
  readonly #tag: string;
  readonly #settings: LaneSettings;
  #window: number;

  constructor(options: {
    readonly redis: Redis;
    /** Common beginning of the lane's keys, with its hash tag. */
    readonly tag: string;
    readonly settings: LaneSettings;
  }) {
    this.#redis = options.redis;
    this.#tag = options.tag;
    this.#settings = options.settings;
    this.#window = options.settings.window;
  }

  /** Tells for `ttlMs` that a worker, named `<process>/<kind>`, runs so many jobs of the lane at once. */
  async register(worker: string, concurrency: number, ttlMs: number): Promise<void> {
    await this.#run("laneRegister", [`${worker}|${concurrency}`, ttlMs]);
  }

  /**
   * Makes the window twice what the workers run at once of the kind that they run most of, and no smaller than its setting: a
   * flood of one kind must not wait in its queue by the slots of another. Forgets workers that are gone.
   */
  async measure(): Promise<void> {
    const workers = (await this.#run("laneWorkers", [])) as readonly string[];
    const slots = new Map<string, number>();
    for (const worker of workers) {
      const [kind = "", count] = worker.slice(worker.lastIndexOf("/") + 1).split("|");
      slots.set(kind, (slots.get(kind) ?? 0) + Number(count));
    }
    this.#window = Math.max(this.#settings.window, WINDOW_PER_SLOT * Math.max(0, ...slots.values()));
  }

  /**
   * Puts a job in its tenant's list. A known id changes nothing. O(1) and what is released.
   * @throws EspalierError `queue_full`; its details are the limit's name, its value, and how much of it is used
   */
  async submit({ id, tenant, cost, order, data, createdAt, limits }: Envelope): Promise<readonly Released[]> {
    const bytes = Buffer.byteLength(data);
    const envelope = {
      a: createdAt,
      t: tenant,
      c: Math.max(1, Math.round(cost)),
      b: bytes,
      ...(order !== undefined && { o: order }),
      d: data,
    };
    const most = limits === undefined ? limitsOf(this.#settings) : { ...NO_LIMITS, ...limits };
    const values = [id, JSON.stringify(envelope), most.queuedJobs, most.queuedBytes, most.inFlight];
    const [outcome, ...released] = (await this.#run("laneSubmit", [...this.#dispatch(), ...values])) as [
      string,
      ...string[],
    ];
    if (outcome === "jobs") throw queueFull("queuedJobs", most.queuedJobs, Number(released[0]));
    if (outcome === "bytes") throw queueFull("queuedBytes", most.queuedBytes, Number(released[0]));
    return pairs(released);
  }

  /** Releases what fits, without a new job. */
  async dispatch(): Promise<readonly Released[]> {
    return pairs((await this.#run("laneDispatch", this.#dispatch())) as string[]);
  }

  /** The jobs are in their queue. */
  async acknowledge(ids: readonly string[]): Promise<void> {
    if (ids.length > 0) await this.#redis.zrem(`${this.#tag}:released`, ...ids);
  }

  /** The jobs have ended or will never run. An unknown id changes nothing. */
  async finish(...ids: readonly string[]): Promise<readonly Released[]> {
    return pairs((await this.#run("laneFinish", [...this.#dispatch(), ...ids])) as string[]);
  }

  /** True if the job was queued and now is gone. */
  async cancel(id: string): Promise<boolean> {
    return (await this.#run("laneCancel", [id])) === 1;
  }

  /** Releases to be made again: whoever took them has not said that it added them. */
  async sweep(): Promise<readonly Released[]> {
    const { resendMs, sweepJobs } = this.#settings;
    return pairs((await this.#run("laneSweep", [resendMs, sweepJobs])) as string[]);
  }

  /** Jobs whose ends may have been lost: the caller looks whether they have ended. */
  async lost(): Promise<readonly Released[]> {
    const { lostMs, sweepJobs } = this.#settings;
    return pairs((await this.#run("laneLost", [lostMs, sweepJobs])) as string[]);
  }

  /** Turns of a tenant per turn of a tenant of weight 1. */
  async setWeight(tenant: string, weight: number): Promise<void> {
    const key = `${this.#tag}:weight`;
    if (weight === 1) await this.#redis.hdel(key, tenant);
    else await this.#redis.hset(key, tenant, weight);
  }

  /** Those of some tenants that are not 1. */
  async weights(tenants: readonly string[]): Promise<ReadonlyMap<string, number>> {
    const weights = await this.#redis.hmget(`${this.#tag}:weight`, ...tenants);
    return new Map(
      tenants.flatMap((tenant, index) => {
        const weight = weights[index] ?? null;
        return weight === null ? [] : [[tenant, Number(weight)] as const];
      }),
    );
  }

  /** Ids of all jobs that wait for their turn or are in flight, of all tenants. O(such jobs). */
  tokens(): Promise<readonly string[]> {
    return this.#redis.hkeys(`${this.#tag}:envelopes`);
  }

  /** Jobs of a tenant that wait for their turn or are in flight. */
  async countOf(tenant: string): Promise<number> {
    const counts = await Promise.all(
      ["waiting", "flying"].map((name) => this.#redis.hget(`${this.#tag}:${name}`, tenant)),
    );
    return counts.reduce((sum, count) => sum + Number(count ?? 0), 0);
  }

  /** Forgets what is known of a tenant that has no jobs any more. Answers the count of entries. */
  async forget(tenant: string): Promise<number> {
    const names = ["waiting", "bytes", "flying", "deficit", "weight", "cap"];
    const counts = await Promise.all(names.map((name) => this.#redis.hdel(`${this.#tag}:${name}`, tenant)));
    return counts.reduce((sum, count) => sum + count, 0);
  }

  /** Jobs that wait for their turn, and that are in flight. */
  async counts(): Promise<{ readonly queued: number; readonly inFlight: number }> {
    const [envelopes, inFlight] = await Promise.all([
      this.#redis.hlen(`${this.#tag}:envelopes`),
      this.#redis.zcard(`${this.#tag}:flight`),
    ]);
    return { queued: Math.max(0, envelopes - inFlight), inFlight };
  }

  /**
   * When the oldest of those whose turn may come was submitted; `undefined` if none waits. A job behind another of its
   * ordering key waits for that one, not for a turn. O(tenants), of which it looks at OLDEST_TENANTS.
   */
  async oldest(): Promise<number | undefined> {
    const answer = (await this.#run("laneOldest", [OLDEST_TENANTS])) as string | null;
    return answer === null ? undefined : Number(answer);
  }

  #dispatch(): readonly number[] {
    const { tenantInFlight, quantum, releases } = this.#settings;
    return [this.#window, tenantInFlight, quantum, releases];
  }

  #run(name: LaneScript, values: readonly (string | number)[]): Promise<unknown> {
    const commands = this.#redis as unknown as Record<LaneScript, (...all: (string | number)[]) => Promise<unknown>>;
    return commands[name](this.#tag, ...values);
  }
}

function pairs(flat: readonly string[]): readonly Released[] {
  return flat.flatMap((id, index) => (index % 2 === 0 ? [{ id, data: flat[index + 1] ?? "" }] : []));
}

/** No limit, as a number that Redis counts with. */
const NO_LIMITS: Required<QueueLimits> = {
  queuedJobs: Number.MAX_SAFE_INTEGER,
  queuedBytes: Number.MAX_SAFE_INTEGER,
  inFlight: Number.MAX_SAFE_INTEGER,
};

function limitsOf({ tenantJobs, tenantBytes, tenantInFlight }: LaneSettings): Required<QueueLimits> {
  return { queuedJobs: tenantJobs, queuedBytes: tenantBytes, inFlight: tenantInFlight };
}

function queueFull(limit: "queuedJobs" | "queuedBytes", value: number, current: number): EspalierError {
  const most = limit === "queuedJobs" ? `${value} waiting jobs` : `${value} bytes of waiting jobs`;
  return new EspalierError("queue_full", `The tenant has as much waiting as it may: ${most}.`, {
    details: { limit, value, current },
  });
}
