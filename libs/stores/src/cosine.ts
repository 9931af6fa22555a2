/* eslint-disable @typescript-eslint/no-non-null-assertion -- within bounds by construction: the innermost loop is spared a test */
/**
 * Cosines in 64-bit arithmetic, always in the same order of additions: however a value is come by, it is the same to the
 * last bit, so that equal texts tie and a score does not depend on what else a process has read before.
 */
export class Query {
  readonly #vector: Float32Array;
  readonly #inverseLength: number;

  constructor(vector: Float32Array) {
    this.#vector = vector;
    this.#inverseLength = inverseLength(vector, 0, vector.length);
  }

  /** Cosine with the vector that begins at `offset`, whose inverse length is known. O(dimension). */
  cosine(vectors: Float32Array, offset: number, inverse: number): number {
    return dot(this.#vector, vectors, offset) * this.#inverseLength * inverse;
  }

  /** The same for vectors of a matrix, by their slots, NaN for slot -1. O(slots x dimension). */
  cosines(vectors: Float32Array, inverse: Float64Array, slots: Int32Array): Float64Array {
    const own = this.#vector;
    const values = new Float64Array(slots.length);
    if (vectors.length === 0) return values.fill(Number.NaN);
    const even = slots.length - (slots.length % 2);
    for (let at = 0; at < even; at += 2) dotTwo(own, vectors, slots, values, at);
    if (even < slots.length) values[even] = dot(own, vectors, offsetOf(slots[even]!, own.length));
    for (let at = 0; at < slots.length; at += 1) {
      const slot = slots[at]!;
      values[at] = slot < 0 ? Number.NaN : values[at]! * this.#inverseLength * inverse[slot]!;
    }
    return values;
  }
}

/** 1 / length of the vector at `offset`; 0 for a vector of zeros, which then is like nothing. */
export function inverseLength(vectors: Float32Array, offset: number, dimension: number): number {
  let squares = 0;
  for (let at = offset; at < offset + dimension; at += 1) squares += vectors[at]! * vectors[at]!;
  return squares === 0 ? 0 : 1 / Math.sqrt(squares);
}

/**
 * Four sums side by side: one sum would wait for each addition to end before the next begins. Both sides are of one kind of
 * array and are indexed from one counter, which is what the compiler makes the fastest code of.
 */
function dot(left: Float32Array, right: Float32Array, offset: number): number {
  const dimension = left.length;
  const even = dimension - (dimension % 4);
  let first = 0;
  let second = 0;
  let third = 0;
  let fourth = 0;
  for (let at = 0; at < even; at += 4) {
    first += left[at]! * right[offset + at]!;
    second += left[at + 1]! * right[offset + at + 1]!;
    third += left[at + 2]! * right[offset + at + 2]!;
    fourth += left[at + 3]! * right[offset + at + 3]!;
  }
  for (let at = even; at < dimension; at += 1) first += left[at]! * right[offset + at]!;
  return first + second + (third + fourth);
}

/**
 * `dot` of two vectors, whose slots stand at `at`, into the same places of `values`: each number of the own vector is read once for
 * both. Of vectors that fit the processor's cache (a few thousand) that takes three quarters of the time, of more as much.
 */
function dotTwo(own: Float32Array, vectors: Float32Array, slots: Int32Array, values: Float64Array, at: number): void {
  const dimension = own.length;
  const even = dimension - (dimension % 4);
  const one = offsetOf(slots[at]!, dimension);
  const other = offsetOf(slots[at + 1]!, dimension);
  let first = 0;
  let second = 0;
  let third = 0;
  let fourth = 0;
  let fifth = 0;
  let sixth = 0;
  let seventh = 0;
  let eighth = 0;
  for (let by = 0; by < even; by += 4) {
    const a = own[by]!;
    const b = own[by + 1]!;
    const c = own[by + 2]!;
    const d = own[by + 3]!;
    first += a * vectors[one + by]!;
    second += b * vectors[one + by + 1]!;
    third += c * vectors[one + by + 2]!;
    fourth += d * vectors[one + by + 3]!;
    fifth += a * vectors[other + by]!;
    sixth += b * vectors[other + by + 1]!;
    seventh += c * vectors[other + by + 2]!;
    eighth += d * vectors[other + by + 3]!;
  }
  for (let by = even; by < dimension; by += 1) {
    first += own[by]! * vectors[one + by]!;
    fifth += own[by]! * vectors[other + by]!;
  }
  values[at] = first + second + (third + fourth);
  values[at + 1] = fifth + sixth + (seventh + eighth);
}

/** That of slot 0 for slot -1, whose value is not used: code that has read outside an array once is slower ever after. */
const offsetOf = (slot: number, dimension: number): number => (slot < 0 ? 0 : slot * dimension);
