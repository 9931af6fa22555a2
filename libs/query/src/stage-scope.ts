import type { EvidenceSet } from "./evidence-set.js";
import type { LocalValues } from "./local-values.js";
import type { NodeTable } from "./node-table.js";
import type { Plan, Stage } from "./plan.js";
import type { RelevanceSource } from "./ports.js";
import type { Tracer } from "./trace.js";

/** A weighted node set in document order; nodes are indexes in a table. */
export interface WeightedSet {
  readonly nodes: Int32Array;
  readonly weights: Float64Array;
}

/** Everything that the scoring of a stage touches. */
export interface StageScope {
  readonly plan: Plan;
  readonly stage: Stage;
  /** The candidates, before their scored brackets. */
  readonly set: WeightedSet;
  readonly table: NodeTable;
  /** By level. */
  readonly sets: readonly EvidenceSet[];
  readonly locals: LocalValues;
  readonly relevance: RelevanceSource;
  readonly signal: AbortSignal | undefined;
  readonly tracer: Tracer | undefined;
}
