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
  const vector = vectors.subarray(offset, offset + dimension);
  const length = Math.sqrt(dot(vector, vector, 0));
  return length === 0 ? 0 : 1 / length;
}

/** Four sums side by side: one sum would wait for each addition to end before the next begins. */
function dot(left: Float32Array, right: Float32Array, offset: number): number {
  const dimension = left.length;
  const even = dimension - (dimension % 4);
  let [first, second, third, fourth] = [0, 0, 0, 0];
  for (let one = 0, other = offset; one < even; one += 4, other += 4) {
    first += at(left, one) * at(right, other);
    second += at(left, one + 1) * at(right, other + 1);
    third += at(left, one + 2) * at(right, other + 2);
    fourth += at(left, one + 3) * at(right, other + 3);
  }
  for (let one = even; one < dimension; one += 1) first += at(left, one) * at(right, offset + one);
  return first + second + (third + fourth);
}

/** Within bounds by construction: the innermost loop is spared a test. */
function at(vector: Float32Array, index: number): number {
  // eslint-disable-next-line @typescript-eslint/no-non-null-assertion -- see above
  return vector[index]!;
}
