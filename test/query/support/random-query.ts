import fc from "fast-check";
import type { Comparison, Local, Position, Query, Relevance, Step } from "#query";

/** The words that random queries are made of. */
export interface Vocabulary {
  readonly types: fc.Arbitrary<string>;
  /** Never `node`, never empty. */
  readonly names: fc.Arbitrary<string>;
  /** Conditions of Locals. */
  readonly conditions: fc.Arbitrary<string>;
  /** A name with what it is compared with. */
  readonly comparisons: fc.Arbitrary<readonly [name: string, value: string | number]>;
  /** Largest number in a position. */
  readonly positions: number;
}

const NAME = fc
  .stringMatching(/^[a-zA-Zäßéж字_][a-zA-Z0-9äж字٣_.-]{0,6}$/u)
  .map((name) => name.normalize("NFC"))
  .filter((name) => name !== "node");

const FINITE = fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => (value === 0 ? 0 : value));

const ANY_NAME = fc.oneof(NAME, fc.constantFrom("min", "max", "avg", "gmean"));

/** Anything that the grammar allows: for the printer and the parser. */
export const ANYTHING: Vocabulary = {
  types: fc.oneof(NAME, fc.constantFrom("node", "min", "avg", "Memory")),
  names: ANY_NAME,
  conditions: fc.oneof(fc.string({ unit: "binary", maxLength: 12 }), fc.constantFrom("", "\\", '"', "'", "\n\t")),
  comparisons: fc.tuple(ANY_NAME, fc.oneof(fc.string({ unit: "binary", maxLength: 8 }), FINITE, fc.integer())),
  positions: Number.MAX_SAFE_INTEGER,
};

/** Random syntax trees. `depth`: how far relevances and aggregates nest. */
export function randomQuery(words: Vocabulary, depth = 3): fc.Arbitrary<Query> {
  return lengths([0, 5, 3, 1], randomStep(words, depth)).map((steps) => ({ kind: "query", steps }));
}

/** Arrays whose length is drawn by weights, the n-th for length n: longer ones mostly find nothing in a small tree. */
function lengths<T>(weights: readonly number[], item: fc.Arbitrary<T>): fc.Arbitrary<T[]> {
  return fc.oneof(
    ...weights.map((weight, length) => ({
      weight,
      arbitrary: fc.array(item, { minLength: length, maxLength: length }),
    })),
  );
}

function randomStep(words: Vocabulary, depth: number): fc.Arbitrary<Step> {
  return fc.record({
    kind: fc.constant("step"),
    axis: fc.constantFrom("child", "descendant", "descendant"),
    type: fc.oneof(words.types, fc.constant(undefined)),
    position: fc.oneof(
      { weight: 4, arbitrary: fc.constant(undefined) },
      { weight: 1, arbitrary: randomPosition(words.positions) },
    ),
    predicates: lengths([2, 4, 2], randomRelevance(words, depth)),
  });
}

function randomPosition(most: number): fc.Arbitrary<Position> {
  const number = fc.integer({ min: 1, max: most }).chain((size) => fc.constantFrom(size, -size));
  const end = fc.option(number, { nil: undefined });
  return fc.oneof(
    fc.record({ kind: fc.constant("index"), index: number }),
    fc.record({ kind: fc.constant("range"), from: end, to: end }),
  );
}

function randomRelevance(words: Vocabulary, depth: number): fc.Arbitrary<Relevance> {
  const field = fc.oneof({ weight: 2, arbitrary: fc.constant("") }, { weight: 1, arbitrary: words.names });
  const local: fc.Arbitrary<Local> = fc.record({ kind: fc.constant("local"), field, text: words.conditions });
  const comparison = fc
    .tuple(words.comparisons, fc.constantFrom("=", "!=", "<", "<=", ">", ">="))
    .map(([[name, value], operator]): Comparison => ({ kind: "comparison", name, operator, value }));
  if (depth === 0) return fc.oneof(local, comparison);
  const inner = fc.constant(undefined).chain(() => randomRelevance(words, depth - 1));
  const several = fc.array(inner, { minLength: 2, maxLength: 3 });
  const fold = fc.constantFrom("min" as const, "max" as const, "avg" as const, "gmean" as const);
  const path = lengths(
    [0, 2, 1],
    fc.constant(undefined).chain(() => randomStep(words, depth - 1)),
  ).map((steps): Query => ({ kind: "query", steps }));
  return fc.oneof(
    { weight: 4, arbitrary: local },
    { weight: 2, arbitrary: comparison },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("product"), factors: several }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("complement"), operand: inner }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("mean"), terms: several }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("combine"), fold, terms: several }) },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant("aggregate"), fold, path }) },
  );
}

/**
 * `//*[fold(//A[…]//B[…])]`: paths that reach a node in several ways, with a scored predicate on each step, which general
 * queries seldom have.
 */
export function randomChains(words: Vocabulary): fc.Arbitrary<Query> {
  const local = fc.record({ kind: fc.constant("local" as const), field: fc.constant(""), text: words.conditions });
  const step = (predicates: fc.Arbitrary<Relevance[]>): fc.Arbitrary<Step> =>
    fc.record({
      kind: fc.constant("step"),
      axis: fc.constant("descendant"),
      type: fc.oneof(words.types, fc.constant(undefined)),
      position: fc.constant(undefined),
      predicates,
    });
  const scored = step(fc.array(local, { minLength: 1, maxLength: 1 }));
  const aggregate = fc.record({
    kind: fc.constant("aggregate" as const),
    fold: fc.constantFrom("min" as const, "max" as const, "avg" as const, "gmean" as const),
    path: fc.array(scored, { minLength: 2, maxLength: 3 }).map((steps): Query => ({ kind: "query", steps })),
  });
  return step(fc.array(aggregate, { minLength: 1, maxLength: 1 })).map((only) => ({ kind: "query", steps: [only] }));
}
