import type { NodeFilter, NodeKey } from "#core";
import type { Batching } from "./batching/micro-batcher.js";

/** A text that a model was asked about is never longer than the model's window without being marked. */
export interface Embedding {
  /** L2-normalised, length = the model's dimension. */
  readonly vector: Float32Array;
  /** True if the text was longer than the window: embedded in windows, mean-pooled, normalised. */
  readonly windowed: boolean;
}

/**
 * An embedding model. Equal texts give equal vectors (cosine distance <= 1e-6), alone or in a batch.
 * Errors: `model_unavailable`, `model_overloaded`, `model_timeout` (retryable), `model_bad_output`, `model_dimension`, `model_refused`.
 */
export interface EmbeddingModel {
  /** Stable identity: what the vectors depend on (local: name and file hash; servers: provider, URL's host and model name). */
  readonly id: string;
  /** Length of the vectors. A server's is learned by its first answer: call `open` before. */
  readonly dimension: number;
  /** Tokens of one window. */
  readonly maxTokens: number;
  /** The calls it likes; absent: one at a time, LIMITS.modelBatchItems and LIMITS.modelBatchTokens. */
  readonly batching?: Batching;
  /** Tokens of a text under this model's own tokenizer, or an upper estimate (never less than the truth by intent). */
  countTokens(text: string): number;
  /** One embedding per text, in order; O(tokens). Empty texts are not allowed. */
  embed(texts: readonly string[], signal?: AbortSignal): Promise<readonly Embedding[]>;
  /** Frees what it holds, once a call under way is over; absent: nothing. */
  close?(): Promise<void>;
}

/** Probabilities of the three labels; they sum to 1. */
export interface EntailmentProbabilities {
  readonly entailment: number;
  readonly neutral: number;
  readonly contradiction: number;
}

/** A natural-language-inference model. Errors as for `EmbeddingModel`. */
export interface EntailmentModel {
  readonly id: string;
  readonly maxTokens: number;
  readonly batching?: Batching;
  countTokens(text: string): number;
  entail(
    pairs: readonly { readonly premise: string; readonly hypothesis: string }[],
    signal?: AbortSignal,
  ): Promise<readonly EntailmentProbabilities[]>;
  /** Frees what it holds, once a call under way is over; absent: nothing. */
  close?(): Promise<void>;
}

/** Persistent cache of vectors by text hash (SHA-256 of model id + text), of one tenant. Batched: one call for all keys. */
export interface EmbeddingCache {
  get(hashes: readonly string[]): Promise<ReadonlyMap<string, Embedding>>;
  /** `tokens`: what a model read for these entries just now. */
  put(entries: ReadonlyMap<string, Embedding>, tokens?: number): Promise<void>;
}

/** Persistent cache of entailment values by hash (SHA-256 of model, template, premise hash, condition), of one tenant. */
export interface EntailmentCache {
  get(hashes: readonly string[]): Promise<ReadonlyMap<string, number>>;
  put(entries: ReadonlyMap<string, number>, tokens?: number): Promise<void>;
}

/** Names a node state. */
export interface StateRef {
  readonly id: string;
  readonly born: number;
}

/** One scored node of a filter. */
export interface ScoredKey {
  readonly key: NodeKey;
  readonly value: number;
}

/** The best nodes of a filter, in order. */
export interface Ranking {
  readonly rows: readonly ScoredKey[];
  /** Whether an approximate index answered. */
  readonly approximate: boolean;
}

/** A condition with both its sides. */
export interface HybridCondition {
  readonly vector: Float32Array;
  readonly terms: QueryTermWeights;
  /** Documents that have one of the terms, at most, at the head that was counted. */
  readonly matches: number;
  /** That head; absent: the store did not tell. */
  readonly counted?: number | undefined;
  /** Share of similarity, in (0, 1). */
  readonly a: number;
}

/** The vectors of one memory at one revision under one model. Vectors never come out. */
export interface VectorScores {
  /** Cosine in [-1, 1] per state, in order; NaN where no vector is stored. One store call. */
  scores(field: string, vector: Float32Array, states: readonly StateRef[]): Promise<Float64Array>;
  /**
   * The best `limit` nodes of a filter by max(0, cosine) rounded to 1e-6 descending, then path key; zeros left out.
   * `approximate` says whether an approximate index answered (never when `exact`).
   */
  topK(
    field: string,
    vector: Float32Array,
    filter: NodeFilter,
    options: { readonly limit: number; readonly exact: boolean },
  ): Promise<Ranking>;
  /**
   * The best by a * max(0, cosine) + (1 - a) * terms, in the same order, where the store has both sides beside each other and
   * can rank by them in one search; `undefined` where it cannot, now or for this condition.
   */
  hybridTopK?(
    field: string,
    condition: HybridCondition,
    filter: NodeFilter,
    options: { readonly limit: number; readonly exact: boolean },
  ): Promise<Ranking | undefined>;
  /** States of the filter (or the named ones) whose field has a text but no vector yet; at most `limit`. */
  missing(
    field: string,
    of: { readonly filter: NodeFilter } | { readonly states: readonly StateRef[] },
    limit: number,
  ): Promise<readonly (StateRef & { readonly text: string })[]>;
  /** Keeps vectors that were computed in a query. */
  keep(field: string, vectors: readonly (StateRef & { readonly embedding: Embedding })[]): Promise<void>;
}

/** Document frequencies of one (memory, field) over the live head nodes whose field is not empty. */
export interface LexicalStatistics {
  /** N. */
  readonly documents: number;
  /** Per term asked for; absent = 0. */
  readonly frequencies: ReadonlyMap<string, number>;
  /** The head that was counted, where the store tells. */
  readonly revision?: number;
}

/** A query's terms with the factor that multiplies a stored term weight: idf / sum of idf * (k1 + 1) over all query terms. */
export type QueryTermWeights = ReadonlyMap<string, number>;

/** The term weights of one memory at one revision. */
export interface LexicalScores {
  /** One store call. Makes sure that the field is indexed first (an attribute field is indexed when first asked for). */
  statistics(field: string, terms: readonly string[]): Promise<LexicalStatistics>;
  /** Sum over terms of factor * stored weight, per state, in order; 0 where nothing matches. One store call. */
  scores(field: string, terms: QueryTermWeights, states: readonly StateRef[]): Promise<Float64Array>;
  /**
   * The nodes of the filter whose value is over `above`, by value rounded to 1e-6 descending, then path key; at most
   * `limit` of them when it is given. Exact.
   */
  matches(
    field: string,
    terms: QueryTermWeights,
    filter: NodeFilter,
    options: { readonly above: number; readonly limit?: number },
  ): Promise<readonly ScoredKey[]>;
}

/** The texts of node states, for scorers that read them. One store call. */
export interface TextSource {
  /** The field's text per state, in order; `undefined` if the attribute is missing. */
  texts(field: string, states: readonly StateRef[]): Promise<readonly (string | undefined)[]>;
}
