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
  // As if the vectors were filled up with zeros.
  if (even < dimension) first += left[even]! * right[offset + even]!;
  if (even + 1 < dimension) second += left[even + 1]! * right[offset + even + 1]!;
  if (even + 2 < dimension) third += left[even + 2]! * right[offset + even + 2]!;
  return first + second + (third + fourth);
}
