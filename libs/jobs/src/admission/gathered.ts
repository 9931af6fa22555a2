/**
 * Calls that many make for one thing each, and that cost hardly more for many things: one is under way at a time, and what
 * comes meanwhile goes together in the next. A call that comes alone does not wait.
 */
export class Gathered<T> {
  readonly #call: (items: readonly T[]) => Promise<void>;
  readonly #most: number;
  #gathered: { readonly items: T[]; readonly done: Promise<void> } | undefined;
  #underWay: Promise<void> = Promise.resolve();

  /** @param most items of a call at most: it stays short */
  constructor(call: (items: readonly T[]) => Promise<void>, most: number) {
    this.#call = call;
    this.#most = most;
  }

  /** Resolves when the call that the item went with is over; rejects if it failed. */
  add(item: T): Promise<void> {
    if (this.#gathered !== undefined && this.#gathered.items.length < this.#most) {
      this.#gathered.items.push(item);
      return this.#gathered.done;
    }
    const items = [item];
    const done = this.#underWay.then(() => {
      if (this.#gathered?.items === items) this.#gathered = undefined;
      return this.#call(items);
    });
    this.#gathered = { items, done };
    this.#underWay = done.catch(ignore);
    return done;
  }
}

function ignore(): void {
  // Those who called hear of it; the next call goes ahead.
}
