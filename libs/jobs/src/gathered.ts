/** Bounds of the calls of a `Gathered`. */
export interface GatheredBounds {
  /** Items of a call at most: it stays short. */
  readonly most: number;
  /** And their weight together, by `weightOf` of each; a heavier item goes by itself. */
  readonly mostWeight?: number;
  /** Milliseconds after which a call that is not over no longer holds up the next: its answer may have been lost. */
  readonly holdMs: number;
}

/**
 * Calls that many make for one thing each, and that cost hardly more for many things: one is under way at a time, and what
 * comes meanwhile goes together in the next. A call that comes alone does not wait.
 */
export class Gathered<T, Answer = void> {
  readonly #call: (items: readonly T[]) => Promise<Answer>;
  readonly #bounds: GatheredBounds;
  readonly #weightOf: (item: T) => number;
  #gathered: { readonly items: T[]; weight: number; readonly done: Promise<Answer> } | undefined;
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

  /** What the call answered that the item went with, to all of its items; rejects if it failed. */
  add(item: T): Promise<Answer> {
    const { most, mostWeight = Infinity } = this.#bounds;
    const weight = this.#weightOf(item);
    const waiting = this.#gathered;
    if (waiting !== undefined && waiting.items.length < most && waiting.weight + weight <= mostWeight) {
      waiting.items.push(item);
      waiting.weight += weight;
      return waiting.done;
    }
    const items = [item];
    const begun = this.#underWay.then(() => {
      if (this.#gathered?.items === items) this.#gathered = undefined;
    });
    const done = begun.then(() => this.#call(items));
    this.#gathered = { items, weight, done };
    this.#underWay = begun.then(() => over(done, this.#bounds.holdMs));
    return done;
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
