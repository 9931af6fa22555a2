/**
 * Term weights as sparse vectors. Qdrant names dimensions by 32-bit numbers, so a term is its hash: two terms of a memory's
 * vocabulary fall together about once in 4 * 10^9 / n for n terms (docs/adr/0091). Stored data depends on the hash: it never changes.
 */
import type { QueryTermWeights } from "#scoring";

/** A sparse vector as Qdrant takes it: every index once. */
export interface SparseVector {
  readonly indices: number[];
  readonly values: number[];
}

/** The vector of a document; of terms that fall together the heavier one counts. */
export function sparseDocument(weights: ReadonlyMap<string, number>): SparseVector {
  return sparse(weights, Math.max);
}

/** The vector of a query; terms that fall together are worth what they are together. */
export function sparseQuery(factors: QueryTermWeights): SparseVector {
  return sparse(factors, (one, other) => one + other);
}

function sparse(weights: ReadonlyMap<string, number>, unite: (one: number, other: number) => number): SparseVector {
  const byIndex = new Map<number, number>();
  for (const [term, weight] of weights) {
    const index = termIndex(term);
    const known = byIndex.get(index);
    byIndex.set(index, known === undefined ? weight : unite(known, weight));
  }
  return { indices: [...byIndex.keys()], values: [...byIndex.values()] };
}

/** FNV-1a over UTF-16 code units, then the finisher of MurmurHash3: short terms that differ in one letter lie far apart. O(length). */
export function termIndex(term: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < term.length; at += 1) {
    const unit = term.charCodeAt(at);
    hash = Math.imul(hash ^ (unit & 0xff), 0x01000193);
    hash = Math.imul(hash ^ (unit >>> 8), 0x01000193);
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
