import type { NodeFilter, NodeKey } from "#core";
import type { Embedder } from "../caching/embedder.js";
import type { Entailer } from "../caching/entailer.js";
import type {
  EmbeddingCache,
  EntailmentCache,
  LexicalScores,
  ScoredKey,
  StateRef,
  TextSource,
  VectorScores,
} from "../ports.js";

/** What scoring did, for the trace and for `explain`. */
export interface ScorerTrace {
  readonly modelCalls: number;
  readonly batchSizes: readonly number[];
  readonly cacheHits: number;
  /** Field texts whose vector was missing and was computed in the query. */
  readonly computed: number;
  /** How many of those were longer than the model's window, and so embedded in windows. */
  readonly windowed: number;
  /** Field texts that the model refuses: they have no vector, and their nodes are 0. */
  readonly refused: number;
  readonly milliseconds: number;
  /** Whether an approximate index answered. */
  readonly approximate: boolean;
}

/** A node state whose field is to be scored. */
export type Candidate = Pick<NodeKey, "id" | "born" | "pathKey">;

export interface RelevanceRequest {
  /** `""` is the node's text. */
  readonly field: string;
  /** The condition. */
  readonly text: string;
  readonly candidates: readonly Candidate[];
}

export interface TopKRequest {
  readonly field: string;
  readonly text: string;
  readonly filter: NodeFilter;
  /** At least 1. */
  readonly limit: number;
  /** Forbids approximate indexes. */
  readonly exact: boolean;
}

/**
 * Rel(u, Local) of one memory at one revision (paper 000, section 3.2; the language page, "Scorers"). Values lie in [0, 1]
 * and are rounded to 1e-6; they depend on the field's text, the condition and the memory's statistics only.
 */
export interface Scorer {
  /** One value per candidate, in order; a missing or an empty field, and an empty condition, give 0. */
  relevance(request: RelevanceRequest): Promise<{ readonly values: Float64Array; readonly trace: ScorerTrace }>;
  /** Whether `topK` can answer. False means that each value costs a model call: ask for the promising candidates first. */
  readonly pushesDown: boolean;
  /**
   * The best `limit` nodes of a filter by value descending, then path key; zeros left out. Equal to scoring every node of
   * the filter, unless the answer is `approximate`.
   */
  topK(request: TopKRequest): Promise<{ readonly rows: readonly ScoredKey[]; readonly trace: ScorerTrace }>;
}

/** How a scorer reports on its work and hears that it is no longer wanted. */
export interface ScorerRun {
  /** Milliseconds. */
  readonly now: () => number;
  readonly signal?: AbortSignal | undefined;
  /** Model work of the query: texts done of those that had to be asked for. */
  readonly onProgress?: ((done: number, total: number) => void) | undefined;
  /** States whose text in the field the model refuses; the same ones come again in later requests. */
  readonly onRefused?: ((field: string, states: readonly StateRef[]) => void) | undefined;
}

/** What `similarity` reads. */
export interface SimilaritySources {
  readonly embedder: Embedder;
  readonly vectors: VectorScores;
  /** The tenant's; absent: the process's cache only. */
  readonly embeddingCache?: EmbeddingCache | undefined;
}

/** What `lexical` reads. */
export interface LexicalSources {
  readonly lexical: LexicalScores;
}

/** What `entailment` reads. */
export interface EntailmentSources {
  readonly entailer: Entailer;
  readonly texts: TextSource;
  readonly template: string;
  readonly entailmentCache?: EntailmentCache | undefined;
}
