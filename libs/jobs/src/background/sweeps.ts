import type { Redis } from "ioredis";
import type { MemoryScope } from "#core";
import { bounded } from "../redis.js";
import { runScript } from "../scripts.js";
import type { JobSettings } from "../settings.js";

/** How the comparison of the stores stands. Times are milliseconds of Redis' clock. */
export interface SweepState {
  /** Points found to differ, of all memories, when they were last compared. */
  readonly drift: number;
  /** Memories that have such points. */
  readonly memories: number;
  /** When a sweep was last asked for, began and ended. */
  readonly askedAt?: number;
  readonly startedAt?: number;
  readonly finishedAt?: number;
}

/** A page of memories: where it begins (absent: the first); answers where the next one does (absent: it was the last). */
export type SweepPage = (after: string | undefined) => Promise<string | undefined>;

/** The sweeps through all memories, shared by all processes of a deployment. Errors: `queue_unavailable`. */
export interface Sweeps {
  /**
   * Runs one page of the sweep, if one is under way, due (`everyMs` after the last began) or asked for, and no other
   * process has the turn. A page that throws, or whose process dies (`lockMs` later), is repeated by the next turn. True if
   * there was something to do.
   */
  turn(options: { readonly everyMs: number; readonly lockMs: number }, page: SweepPage): Promise<boolean>;
  /** Asks for a sweep that begins after now, whenever the last one was. */
  ask(): Promise<void>;
  /** Notes how many points of a memory differ. */
  note(scope: MemoryScope, points: number): Promise<void>;
  /** What is noted of a memory stays: it could not be compared now. */
  keep(scope: MemoryScope): Promise<void>;
  state(): Promise<SweepState>;
}

/** What was found to differ, by tenant and memory. In the slot of the sweep. */
export function driftKey({ prefix }: Pick<JobSettings, "prefix">): string {
  return `{${prefix}-sweep}:drift`;
}

/** Sweeps in Redis. */
export class RedisSweeps implements Sweeps {
  readonly #redis: Redis;
  readonly #settings: JobSettings;
  readonly #keys: { readonly sweep: string; readonly lock: string; readonly drift: string };

  constructor(deps: { readonly redis: Redis; readonly settings: JobSettings }) {
    this.#redis = deps.redis;
    this.#settings = deps.settings;
    const tag = `{${deps.settings.prefix}-sweep}`;
    this.#keys = { sweep: `${tag}:sweep`, lock: `${tag}:lock`, drift: driftKey(deps.settings) };
  }

  async turn(options: { readonly everyMs: number; readonly lockMs: number }, page: SweepPage): Promise<boolean> {
    const { sweep, lock, drift } = this.#keys;
    const token = crypto.randomUUID();
    const values = [token, options.lockMs, options.everyMs];
    const [answer, after] = (await this.#run("sweepTake", [sweep, lock], values)) as [string, string];
    if (answer !== "work") return false;
    const renewal = setInterval(() => {
      // A turn that is lost by this is repeated: that costs only the work.
      this.#run("sweepRenew", [sweep, lock], [token, options.lockMs]).catch(() => undefined);
    }, options.lockMs / 3);
    let next: string | undefined;
    try {
      next = await page(after === "" ? undefined : after);
    } catch (error) {
      await this.#run("sweepGiveBack", [sweep, lock], [token]);
      throw error;
    } finally {
      clearInterval(renewal);
    }
    await this.#run("sweepTurned", [sweep, lock, drift], [token, next ?? ""]);
    return true;
  }

  async ask(): Promise<void> {
    await this.#run("sweepAsk", [this.#keys.sweep], []);
  }

  async note({ tenant, memory }: MemoryScope, points: number): Promise<void> {
    await this.#run("sweepNote", [this.#keys.drift], [`${tenant}/${memory}`, points]);
  }

  async keep({ tenant, memory }: MemoryScope): Promise<void> {
    await this.#run("sweepKeep", [this.#keys.drift], [`${tenant}/${memory}`]);
  }

  async state(): Promise<SweepState> {
    const [sweep, drift] = await bounded(this.#redis, this.#settings, () =>
      Promise.all([this.#redis.hgetall(this.#keys.sweep), this.#redis.hvals(this.#keys.drift)]),
    );
    const time = (name: "askedAt" | "startedAt" | "finishedAt"): Partial<Record<typeof name, number>> =>
      sweep[name] === undefined ? {} : { [name]: Number(sweep[name]) };
    return {
      drift: drift.reduce((sum, value) => sum + Number(value.split(":", 1)[0]), 0),
      memories: drift.length,
      ...time("askedAt"),
      ...time("startedAt"),
      ...time("finishedAt"),
    };
  }

  #run(
    script: "sweepTake" | "sweepTurned" | "sweepRenew" | "sweepGiveBack" | "sweepAsk" | "sweepNote" | "sweepKeep",
    keys: readonly string[],
    values: readonly (string | number)[],
  ): Promise<unknown> {
    return bounded(this.#redis, this.#settings, () => runScript(this.#redis, script, keys, values));
  }
}
