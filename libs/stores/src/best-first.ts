/** Something with a value, to be ranked with others. */
export interface Ranked {
  /** Rounded to 1e-6. */
  readonly value: number;
  /** Decides between equal values: document order. */
  readonly path: string;
}

/** By value descending, then path key: below 0 if `left` comes first. */
export function byRank(left: Ranked, right: Ranked): number {
  return right.value - left.value || (left.path < right.path ? -1 : left.path > right.path ? 1 : 0);
}

/** Keeps the first `limit` of what it is offered, in a heap whose top is the last of them. O(log limit) per one kept. */
export class BestFirst<Item extends Ranked> {
  readonly #heap: Item[] = [];

  constructor(private readonly limit: number) {}

  /** A value below this one has no chance: the least one kept, once all places are taken. */
  get threshold(): number {
    return this.#heap.length < this.limit ? -Infinity : (this.#heap[0]?.value ?? Infinity);
  }

  /** Whether an item with this rank would be kept. */
  admits(candidate: Ranked): boolean {
    const last = this.#heap[0];
    return this.#heap.length < this.limit || (last !== undefined && byRank(candidate, last) < 0);
  }

  offer(item: Item): void {
    if (!this.admits(item)) return;
    if (this.#heap.length < this.limit) {
      this.#heap.push(item);
      this.#rise(this.#heap.length - 1);
    } else {
      this.#heap[0] = item;
      this.#sink();
    }
  }

  /** What was kept, first one first. */
  ranked(): readonly Item[] {
    return [...this.#heap].sort(byRank);
  }

  #rise(from: number): void {
    let at = from;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!this.#swapIfLater(parent, at)) return;
      at = parent;
    }
  }

  #sink(): void {
    let at = 0;
    for (;;) {
      const [left, right] = [2 * at + 1, 2 * at + 2];
      const later = this.#isLater(right, left) ? right : left;
      if (!this.#swapIfLater(at, later)) return;
      at = later;
    }
  }

  /** Whether the item at `one` ranks behind that at `other`; false where there is none. */
  #isLater(one: number, other: number): boolean {
    const [left, right] = [this.#heap[one], this.#heap[other]];
    return left !== undefined && right !== undefined && byRank(left, right) > 0;
  }

  /** Swaps parent and child if the child ranks behind the parent. */
  #swapIfLater(parent: number, child: number): boolean {
    const [upper, lower] = [this.#heap[parent], this.#heap[child]];
    if (upper === undefined || lower === undefined || byRank(lower, upper) <= 0) return false;
    this.#heap[parent] = lower;
    this.#heap[child] = upper;
    return true;
  }
}
