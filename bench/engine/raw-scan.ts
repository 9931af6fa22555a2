/**
 * The raw limit of a scan: dot products of one vector with all vectors of a memory, held in one array, and the best ones.
 */

/** Indexes of the `limit` largest dot products of `query` with the rows of `vectors`, best first. O(rows x dimension). */
export function rawTopK(vectors: Float32Array, query: Float32Array, limit: number): readonly number[] {
  return largest(vectors.length / query.length, limit, (index) => dotProduct(vectors, index * query.length, query));
}

/** Indexes of the `limit` largest of `count` values, best first. */
export function largest(count: number, limit: number, valueOf: (index: number) => number): readonly number[] {
  const best: { readonly index: number; readonly score: number }[] = [];
  let lowest = -Infinity;
  for (let index = 0; index < count; index += 1) {
    const score = valueOf(index);
    if (best.length === limit && score <= lowest) continue;
    if (best.length === limit) best.pop();
    const place = best.findIndex((other) => other.score < score);
    best.splice(place === -1 ? best.length : place, 0, { index, score });
    lowest = best.at(-1)?.score ?? -Infinity;
  }
  return best.map(({ index }) => index);
}

/**
 * The dot product of `query` with the vector that begins at `offset`. Four sums, so that the additions do not wait for each
 * other; the dimension is a multiple of 4.
 */
export function dotProduct(vectors: Float32Array, offset: number, query: Float32Array): number {
  let [first, second, third, fourth] = [0, 0, 0, 0];
  for (let at = 0; at < query.length; at += 4) {
    first += (vectors[offset + at] ?? 0) * (query[at] ?? 0);
    second += (vectors[offset + at + 1] ?? 0) * (query[at + 1] ?? 0);
    third += (vectors[offset + at + 2] ?? 0) * (query[at + 2] ?? 0);
    fourth += (vectors[offset + at + 3] ?? 0) * (query[at + 3] ?? 0);
  }
  return first + second + third + fourth;
}
