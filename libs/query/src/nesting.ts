import type { Relevance } from "./ast.js";

/**
 * How deep parentheses, folds and complements nest in the canonical text of a relevance, not counting the predicates of
 * aggregates (each of those was checked where it stands). The printer adds parentheses around a complement that is
 * multiplied, so the canonical text of an accepted query must not be deeper than the limit either. O(nodes).
 */
export function nestingOf(relevance: Relevance): number {
  switch (relevance.kind) {
    case "product":
      return deepest(relevance.factors, (factor) => parenthesis(factor, "product", "complement") + nestingOf(factor));
    case "complement":
      return 1 + parenthesis(relevance.operand, "product") + nestingOf(relevance.operand);
    case "mean":
    case "combine":
      return 1 + deepest(relevance.terms, nestingOf);
    case "aggregate":
      return 1 + deepest(relevance.path.steps, (step) => deepest(step.predicates, (inner) => 1 + nestingOf(inner)));
    case "local":
    case "comparison":
      return 0;
  }
}

function parenthesis(relevance: Relevance, ...kinds: readonly Relevance["kind"][]): number {
  return kinds.includes(relevance.kind) ? 1 : 0;
}

function deepest<T>(items: readonly T[], depth: (item: T) => number): number {
  let most = 0;
  for (const item of items) most = Math.max(most, depth(item));
  return most;
}
