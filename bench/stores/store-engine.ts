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

export interface HybridQuery {
  readonly vector: Float32Array;
  readonly terms: QueryTermWeights;
}

export interface HybridSearch {
  /** Share of similarity. */
  readonly a: number;
  readonly limit: number;
}

export interface RankedNode {
  readonly id: string;
  readonly value: number;
}

/** Searches among the items of a memory, over the engine's own driver or over arrays. Each answers its number of rows. */
export interface SearchByHand {
  /** What the weights of terms come from. */
  statistics(terms: readonly string[]): Promise<LexicalStatistics>;
  similarity(vector: Float32Array, search: { readonly limit: number; readonly exact: boolean }): Promise<number>;
  lexical(terms: QueryTermWeights, limit: number): Promise<number>;
  hybrid(query: HybridQuery, search: HybridSearch): Promise<number>;
  /**
   * Of one that is not exact: makes it as broad as it has to be to find 98 of 100 rows, which is what an approximate search must
   * find, and tells how broad that is and what it found at first. `right` are the rows of each query.
   */
  broadenHybrid?(
    queries: readonly HybridQuery[],
    search: HybridSearch,
    right: readonly (readonly RankedNode[])[],
  ): Promise<string>;
  /** Cosines of the named points. */
  cosines(vector: Float32Array): Promise<number>;
  /** What the terms are worth in the texts of the named points. */
  termWeights(terms: QueryTermWeights): Promise<number>;
}
