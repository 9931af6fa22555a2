/** The typed arrays that images are made of. */
type Numbers = Float64Array | Int32Array;

/** A typed array that grows by a quarter when it is full: rows come after each other, and memory is what images spend. */
export class Growing<T extends Numbers> {
  #values: T;
  #length = 0;

  constructor(
    private readonly make: (capacity: number) => T,
    capacity: number,
  ) {
    this.#values = make(capacity);
  }

  get length(): number {
    return this.#length;
  }

  /** The array itself, for loops; behind `length` its values mean nothing. It changes when the array grows. */
  get values(): T {
    return this.#values;
  }

  get bytes(): number {
    return this.#values.byteLength;
  }

  push(value: number): void {
    this.#reserve(1);
    this.#values[this.#length] = value;
    this.#length += 1;
  }

  #reserve(more: number): void {
    const needed = this.#length + more;
    if (needed <= this.#values.length) return;
    const larger = this.make(Math.max(needed, Math.ceil(this.#values.length * 1.25), 16));
    larger.set(this.#values);
    this.#values = larger;
  }
}

/** The first position in `[0, length)` at which `isAtOrBehind` holds, for a condition that holds from some position on. */
export function firstPosition(length: number, isAtOrBehind: (position: number) => boolean): number {
  let [low, high] = [0, length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (isAtOrBehind(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}
