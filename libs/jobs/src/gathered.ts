import { cameLate } from "./redis.js";

/** Bounds of the calls of a `Gathered`. */
export interface GatheredBounds {
  /** Items of a call at most: it stays short. */
  readonly most: number;
  /** And their weight together, by `weightOf` of each; a heavier item goes by itself. */
  readonly mostWeight?: number;
  /** Milliseconds after which a call that is not over no longer holds up the next: its answer may have been lost. */
  readonly holdMs: number;
  /** Milliseconds after which nobody waits for an item any more: one whose turn comes later is left out. */
  readonly waitMs?: number;
}

/** Items that go together. */
interface Group<T, Answer> {
  readonly items: { readonly item: T; readonly until: number }[];
  weight: number;
  /** Resolves, by `performance.now`, when its turn has come. */
  readonly begun: Promise<number>;
  readonly done: Promise<Answer>;
}

/**
 * Calls that many make for one thing each, and that cost hardly more for many things: one is under way at a time, and what
 * comes meanwhile goes together in the next. A call that comes alone does not wait.
 */
export class Gathered<T, Answer = void> {
  readonly #call: (items: readonly T[]) => Promise<Answer>;
  readonly #bounds: GatheredBounds;
  readonly #weightOf: (item: T) => number;
  #gathered: Group<T, Answer> | undefined;
  #underWay: Promise<void> = Promise.resolve();

  constructor(
    call: (items: readonly T[]) => Promise<Answer>,
    bounds: GatheredBounds,
    weightOf: (item: T) => number = () => 0,
  ) {
    this.#call = call;
    this.#bounds = bounds;
    this.#weightOf = weightOf;
  }

  /**
   * What the call answered that the item went with, to all of its items; rejects if it failed.
   * @throws EspalierError `queue_unavailable` for one that was left out
   */
  async add(item: T): Promise<Answer> {
    const { most, mostWeight = Infinity, waitMs = Infinity } = this.#bounds;
    const weight = this.#weightOf(item);
    const until = performance.now() + waitMs;
    let group = this.#gathered;
    if (group === undefined || group.items.length >= most || group.weight + weight > mostWeight) group = this.#next();
    group.items.push({ item, until });
    group.weight += weight;
    if (until < (await group.begun)) throw cameLate();
    return group.done;
  }

  #next(): Group<T, Answer> {
    const items: Group<T, Answer>["items"] = [];
    const begun = this.#underWay.then(() => {
      if (this.#gathered?.items === items) this.#gathered = undefined;
      return performance.now();
    });
    const done = begun.then((at) => {
      const inTime = items.filter(({ until }) => until >= at).map(({ item }) => item);
      if (inTime.length === 0) throw cameLate();
      return this.#call(inTime);
    });
    this.#underWay = begun.then(() => over(done, this.#bounds.holdMs));
    return (this.#gathered = { items, weight: 0, begun, done });
  }
}

/** Resolves when a call is over, or has lasted for so long. Those who called hear of its failure; the next goes ahead. */
async function over(call: Promise<unknown>, mostMs: number): Promise<void> {
  const { promise: late, resolve } = Promise.withResolvers<undefined>();
  const timer = setTimeout(() => {
    resolve(undefined);
  }, mostMs);
  await Promise.race([Promise.allSettled([call]), late]);
  clearTimeout(timer);
}
