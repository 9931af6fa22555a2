import type { Attributes, NodeFilter, NodeKey } from "#core";
import type { Comparison, Position } from "./ast.js";

/** The part of a step that a store decides by itself, exactly: axis, node test, position, then whole-bracket comparisons. */
export interface StructuralStep {
  readonly axis: "child" | "descendant";
  /** `undefined` is `*`. */
  readonly type: string | undefined;
  readonly position: Position | undefined;
  /** All must hold (after the position). */
  readonly comparisons: readonly Comparison[];
}

/** A context node of a run with the weight it carries. */
export interface WeightedContext {
  readonly id: string;
  readonly pathKey: string;
  readonly weight: number;
}

/** A maximal run of structural steps: one store call. */
export interface StructuralRun {
  /** `"root"` is {(root, 1)}. */
  readonly contexts: "root" | readonly WeightedContext[];
  readonly steps: readonly StructuralStep[];
  /** Whether `attributes` and `metadata` are wanted on the rows. */
  readonly values: boolean;
  /** Only the first so many rows, in document order, are wanted; a store may answer more. Absent: all. */
  readonly limit?: number;
}

/** A node of a run's result. */
export interface RunRow {
  readonly key: NodeKey;
  /** Largest weight of the contexts from which the run reaches the node. */
  readonly weight: number;
  readonly attributes?: Attributes;
  readonly metadata?: Attributes;
}

/** Evidence of aggregates: for every context and path, the chains of nodes that the path finds from it. */
export interface EvidenceRequest {
  readonly contexts: readonly { readonly id: string; readonly pathKey: string }[];
  readonly paths: readonly EvidencePath[];
  readonly values: boolean;
}

export interface EvidencePath {
  readonly steps: readonly StructuralStep[];
  /** Per step, whether its node is wanted in the chain (it carries a predicate that must be evaluated); the last always is. */
  readonly keep: readonly boolean[];
}

/** One way in which a path reaches an evidence node. Positions count within one context, in document order. */
export interface EvidenceRow {
  /** Index into `contexts`. */
  readonly context: number;
  /** Index into `paths`. */
  readonly path: number;
  /** The nodes of the kept steps, in step order; the last is the evidence node. Distinct within (context, path). */
  readonly chain: readonly Omit<RunRow, "weight">[];
}

/** What a store call did, for the trace. */
export interface StatementTrace {
  /** The statement sent, or a description for stores without a language. */
  readonly statement: string;
  readonly rows: number;
  readonly milliseconds: number;
}

/**
 * The structure of one memory at one revision. Each method is **one** store call whatever the number of contexts.
 * Rows come in document order.
 */
export interface StructureSource {
  run(run: StructuralRun): Promise<{ readonly rows: readonly RunRow[]; readonly trace: StatementTrace }>;
  evidence(
    request: EvidenceRequest,
  ): Promise<{ readonly rows: readonly EvidenceRow[]; readonly trace: StatementTrace }>;
}

/** A node whose field is to be scored. */
export type ScoringCandidate = Pick<NodeKey, "id" | "born" | "pathKey">;

/** What scoring did, for the trace and for `explain`. */
export interface ScoringTrace {
  readonly modelCalls: number;
  readonly batchSizes: readonly number[];
  readonly cacheHits: number;
  /** Field texts whose vector was missing and was computed in the query. */
  readonly computed: number;
  /** Field texts that the model refuses: they have no vector, and their nodes are 0. */
  readonly refused: number;
  readonly milliseconds: number;
  /** Whether an approximate index answered. */
  readonly approximate: boolean;
}

/** Rel(u, Local) of one memory at one revision under one scorer. Values lie in [0, 1]. */
export interface RelevanceSource {
  /**
   * One value per candidate, in the candidates' order; a missing or an empty field is 0. Values depend on the field's
   * text, the condition and the memory's statistics only, never on the other candidates.
   */
  relevance(request: {
    readonly field: string;
    readonly text: string;
    readonly candidates: readonly ScoringCandidate[];
  }): Promise<{ readonly values: Float64Array; readonly trace: ScoringTrace }>;

  /** Whether `topK` can answer for this scorer (entailment cannot). */
  readonly pushesDown: boolean;

  /**
   * The best `limit` nodes of a filter: by value rounded to 1e-6 descending, then path key; values of 0 are left out.
   * Equal to scoring every node of the filter, unless `exact` is false and the index is approximate.
   */
  topK(request: {
    readonly field: string;
    readonly text: string;
    readonly filter: NodeFilter;
    readonly limit: number;
    readonly exact: boolean;
  }): Promise<{
    readonly rows: readonly { readonly key: NodeKey; readonly value: number }[];
    readonly trace: ScoringTrace;
  }>;
}
