import type { MemoryScope, NodeFilter } from "#core";
import type {
  Embedding,
  HybridCondition,
  LexicalStatistics,
  QueryTermWeights,
  Ranking,
  ScoredKey,
  StateRef,
} from "#scoring";

/** A vector of one field of one node state. */
export interface VectorPoint extends StateRef {
  readonly field: string;
  readonly model: string;
  readonly embedding: Embedding;
}

/** What a read of vectors is about. */
export interface VectorRead {
  readonly revision: number;
  readonly model: string;
  readonly field: string;
  /**
   * By identity: what a store had to look up for one read of a view may serve the others. Whoever makes one has read the memory
   * at the revision, and takes another one when the memory has changed, or LIMITS.lostPointsMs later.
   */
  readonly view?: object;
}

/** What a read of term weights is about. */
export type LexicalRead = Omit<VectorRead, "model">;

/** Count and order-free hash of the points of a memory (id, born, field, died): equal sets have equal fingerprints in every store. */
export interface Fingerprint {
  readonly count: number;
  readonly hash: string;
}

/**
 * Scores inside the store; vectors never travel at query time. Errors: `model_dimension`, `store_unavailable`; where trees and
 * vectors lie apart, `revision_conflict` under a model that the memory has left.
 */
export interface VectorStore {
  /** Cosine per state, in order; NaN where no vector of that model is stored. One call. */
  scores(
    scope: MemoryScope,
    read: VectorRead,
    vector: Float32Array,
    states: readonly StateRef[],
  ): Promise<Float64Array>;
  /** By max(0, cosine) rounded to 1e-6 descending, then path key; zeros left out. */
  topK(
    scope: MemoryScope,
    read: VectorRead,
    vector: Float32Array,
    filter: NodeFilter,
    options: { readonly limit: number; readonly exact: boolean },
  ): Promise<Ranking>;
  /** As VectorScores.hybridTopK says. */
  hybridTopK?(
    scope: MemoryScope,
    read: VectorRead,
    condition: HybridCondition,
    filter: NodeFilter,
    options: { readonly limit: number; readonly exact: boolean },
  ): Promise<Ranking | undefined>;
  /** States live at the revision whose field has a text and no vector of that model: of the filter or among the named; with the text. */
  missing(
    scope: MemoryScope,
    read: VectorRead,
    of: { readonly filter: NodeFilter } | { readonly states: readonly StateRef[] },
    limit: number,
  ): Promise<readonly (StateRef & { readonly text: string })[]>;
  /** Repeats safely. A point whose state does not exist (deleted meanwhile) is dropped. */
  upsert(scope: MemoryScope, points: readonly VectorPoint[]): Promise<void>;
  /**
   * Removes the points of models that the memory has left: those that it is neither on nor moving to. Answers the count.
   * Repeats safely, and goes on where a call that died stopped.
   */
  deleteFormer(scope: MemoryScope): Promise<number>;
  fingerprint(scope: MemoryScope, model: string): Promise<Fingerprint>;
}

/** Term weights of one field of one node state (static: k1, b and the reference length are fixed). */
export interface FieldTerms extends StateRef {
  readonly field: string;
  readonly weights: ReadonlyMap<string, number>;
}

/** An inverted index per (memory, field). Documents are the live head states whose field is not empty. */
export interface LexicalIndex {
  /** Whether the index of the field is whole (`""` always is). */
  indexed(scope: MemoryScope, field: string): Promise<boolean>;
  /**
   * Begins the index of an attribute field, or goes on with it: one bounded transaction of live states that have a text in it.
   * Answers whether it is whole; until then no read sees it. Commits keep it from its first page on, so that they may come
   * between two pages. A page that died is done again; pages of several callers follow each other.
   */
  indexPage(scope: MemoryScope, field: string): Promise<boolean>;
  /** The fields that commits must bring terms for: those whose index was begun. */
  fields(scope: MemoryScope): Promise<readonly string[]>;
  statistics(
    scope: MemoryScope,
    read: Omit<LexicalRead, "revision">,
    terms: readonly string[],
  ): Promise<LexicalStatistics>;
  scores(
    scope: MemoryScope,
    read: LexicalRead,
    terms: QueryTermWeights,
    states: readonly StateRef[],
  ): Promise<Float64Array>;
  /** Value over `above`, by value rounded to 1e-6 descending, then path key. Exact. */
  matches(
    scope: MemoryScope,
    read: LexicalRead,
    terms: QueryTermWeights,
    filter: NodeFilter,
    options: { readonly above: number; readonly limit?: number },
  ): Promise<readonly ScoredKey[]>;
}
