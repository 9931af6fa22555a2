/**
 * The syntax tree of Semantic XPath (paper 000, section 3.2, with the additions of the language page). Immutable; positions
 * in the text are kept beside the tree, never in it, so that `parse(print(ast))` equals `ast`.
 */

export interface Query {
  readonly kind: "query";
  /** At least one. */
  readonly steps: readonly Step[];
}

export interface Step {
  readonly kind: "step";
  readonly axis: "child" | "descendant";
  /** `undefined` is `*`. */
  readonly type: string | undefined;
  readonly position: Position | undefined;
  /** Several brackets multiply. */
  readonly predicates: readonly Relevance[];
}

/** 1-based; negative counts from the end; a range is inclusive and may be open. Never 0. */
export type Position =
  | { readonly kind: "index"; readonly index: number }
  | { readonly kind: "range"; readonly from: number | undefined; readonly to: number | undefined };

export type Fold = "min" | "max" | "avg" | "gmean";

export type Relevance = Product | Complement | Mean | Combine | Aggregate | Local | Comparison;

/** At least two factors. */
export interface Product {
  readonly kind: "product";
  readonly factors: readonly Relevance[];
}

export interface Complement {
  readonly kind: "complement";
  readonly operand: Relevance;
}

/** At least two terms. */
export interface Mean {
  readonly kind: "mean";
  readonly terms: readonly Relevance[];
}

/** A fold of at least two relevances of the same node. */
export interface Combine {
  readonly kind: "combine";
  readonly fold: Fold;
  readonly terms: readonly Relevance[];
}

/** A fold over the evidence nodes that a path finds below the node. */
export interface Aggregate {
  readonly kind: "aggregate";
  readonly fold: Fold;
  readonly path: Query;
}

/** Semantic relevance of one field: `""` is the node's text, anything else the attribute of that name. */
export interface Local {
  readonly kind: "local";
  readonly field: string;
  readonly text: string;
}

export type ComparisonOperator = "=" | "!=" | "<" | "<=" | ">" | ">=";

/** Exact, 0 or 1; over attributes, then metadata. */
export interface Comparison {
  readonly kind: "comparison";
  readonly name: string;
  readonly operator: ComparisonOperator;
  readonly value: string | number;
}
