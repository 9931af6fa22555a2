import type { MemoryScope } from "#core";
import type { LexicalIndex, TreeStore, VectorStore } from "#memory";
import type { LexicalStatistics, QueryTermWeights } from "#scoring";
import type { BeginCopy } from "./copy-by-hand.js";
import type { GrownPoints } from "./grow-points.js";
import type { GrownTree } from "./grow-tree.js";

/** A query by hand of what a read asks for, in the engine's own language. */
export interface RawQuery {
  readonly cypher: string;
  readonly sql: string;
  /** Beside `memory`; numbers and texts, or ids of contexts with their paths. */
  readonly parameters?: Readonly<Record<string, string | number | readonly RawContext[]>>;
}

export interface RawContext {
  readonly id: string;
  readonly pathKey: string;
}

/** Stores and the engines below them. */
export interface StoreEngine {
  readonly name: string;
  readonly tree: TreeStore;
  /** Absent: the engine has trees alone. */
  readonly search?: SearchStores;
  /** Rows of a query that is sent to the engine's own driver, over a connection that is open. */
  raw(scope: MemoryScope, query: RawQuery): Promise<number>;
  readonly beginCopy: BeginCopy;
  close(): Promise<void>;
}

export interface SearchStores {
  readonly vectors: VectorStore;
  readonly lexical: LexicalIndex;
  /** Waits until what was stored is in the indexes; false where that takes longer than a benchmark should wait. */
  settled(): Promise<boolean>;
  /** The same searches by hand, prepared for the points of a memory. */
  byHand(tree: GrownTree, points: GrownPoints): Promise<SearchByHand>;
}

/** Searches among the items of a memory, over the engine's own driver or over arrays. Each answers its number of rows. */
export interface SearchByHand {
  /** What the weights of terms come from. */
  statistics(terms: readonly string[]): Promise<LexicalStatistics>;
  similarity(vector: Float32Array, search: { readonly limit: number; readonly exact: boolean }): Promise<number>;
  lexical(terms: QueryTermWeights, limit: number): Promise<number>;
  /** `a` is the share of similarity. */
  hybrid(
    query: { readonly vector: Float32Array; readonly terms: QueryTermWeights },
    search: { readonly a: number; readonly limit: number },
  ): Promise<number>;
  /** Cosines of the named points. */
  cosines(vector: Float32Array): Promise<number>;
  /** What the terms are worth in the texts of the named points. */
  termWeights(terms: QueryTermWeights): Promise<number>;
}
