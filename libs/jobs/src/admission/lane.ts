import type { Redis } from "ioredis";
import { EspalierError, type TenantLimits } from "#core";
import { envelopeData, envelopeText, type LaneScript } from "./lane-scripts.js";

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
  /** Jobs released, or ended, by one call at most: the call stays short. */
  readonly releases: number;
  /** Jobs that one call takes in at most; each may bring a payload, so that they are fewer. */
  readonly submits: number;
  /** So long after its release a job is looked after: the process that had to add it to its queue may have died. */
  readonly resendMs: number;
  /** Then so often: its end may have been lost. */
  readonly lostMs: number;
  /** Jobs that one sweep looks at. */
  readonly sweepJobs: number;
}

/** What a tenant may have in a lane. A limit that is absent does not exist. */
export type QueueLimits = Pick<TenantLimits, "queuedJobs" | "queuedBytes" | "inFlight">;

/** A job that waits for its turn. Neither its tenant nor its ordering key has white space. */
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

/** A job whose turn it is: the caller adds it to its queue. */
export interface Released {
  readonly id: string;
  readonly data: string;
}

/** What became of submits. */
export interface Submitted {
  /** Jobs whose turn it is now, of those that were submitted or waited. */
  readonly released: readonly Released[];
  /** Why a job was refused, by its id: `queue_full`; its details are the limit's name, its value, and how much of it is used. */
  readonly refused: ReadonlyMap<string, EspalierError>;
}

/**
 * One lane of admission (see lane-scripts.ts). Each method is one script: one round trip. Any process may call any of them
 * at any time. What is released is the caller's to add.
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
   * Puts jobs in the lists of their tenants, in this order. A known id changes nothing; one that is refused leaves the others
   * as they are. O(jobs and what is released).
   */
  async submit(...jobs: readonly Envelope[]): Promise<Submitted> {
    const most = jobs.map(({ limits }) =>
      limits === undefined ? limitsOf(this.#settings) : { ...NO_LIMITS, ...limits },
    );
    const values = jobs.flatMap(({ id, tenant, cost, order, data, createdAt }, at) => {
      const head = { createdAt, cost: Math.max(1, Math.round(cost)), bytes: Buffer.byteLength(data), tenant, order };
      const { queuedJobs, queuedBytes, inFlight } = most[at] ?? NO_LIMITS;
      return [id, envelopeText(head, data), queuedJobs, queuedBytes, inFlight];
    });
    const [outcomes, ...released] = (await this.#run("laneSubmit", [...this.#dispatch(), ...values])) as [
      readonly (0 | readonly [limit: "jobs" | "bytes", current: number])[],
      ...string[],
    ];
    const refused = jobs.flatMap(({ id }, at) => {
      const outcome = outcomes[at] ?? 0;
      return outcome === 0 ? [] : [[id, queueFull(...outcome, most[at] ?? NO_LIMITS)] as const];
    });
    return { released: pairs(released), refused: new Map(refused) };
  }

  /** Releases what fits, without a new job. */
  async dispatch(): Promise<readonly Released[]> {
    const [, ...released] = (await this.#run("laneDispatch", this.#dispatch())) as [number, ...string[]];
    return pairs(released);
  }

  /** The jobs have ended or will never run. An id that is not in flight changes nothing. */
  async finish(...ids: readonly string[]): Promise<readonly Released[]> {
    const [, ...released] = (await this.#run("laneFinish", [...this.#dispatch(), ...ids])) as [number, ...string[]];
    return pairs(released);
  }

  /** True if the job was queued and now is gone. */
  async cancel(id: string): Promise<boolean> {
    return (await this.#run("laneCancel", [id])) === 1;
  }

  /** Jobs in flight that may not be in their queue, or may have ended: the caller looks. */
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
    const known = await this.#redis.hget(`${this.#tag}:tenants`, tenant);
    const [waiting, , flying] = (known ?? "0 0 0").split(" ");
    return Number(waiting) + Number(flying);
  }

  /** Forgets what is known of a tenant that has no jobs any more. Answers the count of entries. */
  async forget(tenant: string): Promise<number> {
    const counts = await Promise.all(
      ["tenants", "weight"].map((name) => this.#redis.hdel(`${this.#tag}:${name}`, tenant)),
    );
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
    const { tenantInFlight, quantum, releases, resendMs } = this.#settings;
    return [this.#window, tenantInFlight, quantum, releases, resendMs];
  }

  #run(name: LaneScript, values: readonly (string | number)[]): Promise<unknown> {
    const commands = this.#redis as unknown as Record<LaneScript, (...all: (string | number)[]) => Promise<unknown>>;
    return commands[name](this.#tag, ...values);
  }
}

/** Envelopes as scripts answer them: id, text, id, text, … */
function pairs(flat: readonly string[]): readonly Released[] {
  return flat.flatMap((id, at) => (at % 2 === 0 ? [{ id, data: envelopeData(flat[at + 1] ?? "") }] : []));
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

function queueFull(full: "jobs" | "bytes", current: number, most: Required<QueueLimits>): EspalierError {
  const limit = full === "jobs" ? "queuedJobs" : "queuedBytes";
  const value = most[limit];
  const text = full === "jobs" ? `${value} waiting jobs` : `${value} bytes of waiting jobs`;
  return new EspalierError("queue_full", `The tenant has as much waiting as it may: ${text}.`, {
    details: { limit, value, current },
  });
}
