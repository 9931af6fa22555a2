import { roundRelevance, type NodeKey } from "#core";
import type { NodeTable } from "./node-table.js";
import type { PlannedAggregate, Scored, Stage } from "./plan.js";
import type { StageValues } from "./stage-values.js";

/** A node that an aggregate folded for a row. */
export interface EvaluatedEvidence {
  /** Which aggregate of the query, from 0 in reading order. */
  readonly aggregate: number;
  readonly key: NodeKey;
  /** The product of the predicates along the path, to 1e-6; may be 0. */
  readonly score: number;
}

/** The evidence of a candidate under the stage's own aggregates (not those inside aggregates), the best first. */
export function rowEvidence(
  stage: Stage,
  values: StageValues,
  table: NodeTable,
  node: number,
): readonly EvaluatedEvidence[] {
  return stage.predicates.flatMap(aggregatesOf).flatMap((aggregate) =>
    values
      .evidence(aggregate, node)
      .map(({ node: found, value }) => ({
        aggregate: aggregate.index,
        key: table.key(found),
        score: roundRelevance(value),
      }))
      .sort((a, b) => b.score - a.score),
  );
}

/** The outermost aggregates of a relevance, in reading order. */
function aggregatesOf(scored: Scored): readonly PlannedAggregate[] {
  switch (scored.kind) {
    case "product":
    case "combine":
      return scored.terms.flatMap(aggregatesOf);
    case "complement":
      return aggregatesOf(scored.operand);
    case "aggregate":
      return [scored.aggregate];
    case "local":
    case "comparison":
      return [];
  }
}
