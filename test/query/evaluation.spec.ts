import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { evaluate, parse, plan, print, type EvaluateOptions, type Query } from "#query";
import { ArrayRelevanceSource, ArrayStructureSource } from "./support/array-sources.js";
import { naiveEvaluate, naiveEvidence } from "./support/naive-evaluate.js";
import { randomChains, randomQuery } from "./support/random-query.js";
import { randomTrees, TREE_WORDS } from "./support/random-tree.js";
import { hashedRelevance } from "./support/relevance-function.js";
import { holdsFor } from "./support/seed.js";
import { plantTrees, type TestTree } from "./support/tree.js";

interface Case {
  readonly trees: readonly TestTree[];
  readonly query: Query;
  readonly options: EvaluateOptions;
  readonly pushesDown: boolean;
}

const cases = (query: fc.Arbitrary<Query>): fc.Arbitrary<Case> =>
  fc.record({
    trees: randomTrees(),
    query,
    options: fc.record({
      topK: fc.oneof(fc.constant(undefined), fc.integer({ min: 1, max: 6 })),
      minScore: fc.constantFrom(undefined, undefined, undefined, 0.1, 0.5),
      minRatio: fc.constantFrom(undefined, undefined, undefined, 0.5, 1),
      trace: fc.boolean(),
      evidence: fc.constant(true),
    }),
    pushesDown: fc.boolean(),
  });

/** Cases that had rows, and rows with evidence: a property over empty results would prove little. */
const seen = { rows: 0, evidence: 0 };

const check = async ({ trees, query, options, pushesDown }: Case): Promise<void> => {
  const root = plantTrees(trees);
  const structure = new ArrayStructureSource(root);
  const relevance = new ArrayRelevanceSource(root, { pushesDown });
  const found = await evaluate(plan(query), { structure, relevance }, options);
  const expected = naiveEvaluate(query, root, hashedRelevance, options);
  expect(found.rows.map(({ key, score }) => [key.id, score])).toEqual(
    expected.map(({ node, score }) => [node.key.id, score]),
  );
  if (found.rows.length > 0) seen.rows++;
  if (found.rows.some(({ evidence }) => evidence.length > 0)) seen.evidence++;
  const last = query.steps.at(-1)!;
  expected.forEach(({ node }, at) => {
    const evidence = found.rows[at]!.evidence;
    const aggregates = [...new Set(evidence.map(({ aggregate }) => aggregate))];
    const grouped = aggregates.map((index) =>
      evidence.filter(({ aggregate }) => aggregate === index).map(({ key, score }) => [key.id, score]),
    );
    const wanted = naiveEvidence(last, node, hashedRelevance).filter((rows) => rows.length > 0);
    expect(grouped).toEqual(wanted.map((rows) => rows.map((row) => [row.node.key.id, row.score])));
  });
};

test("evaluation equals a naive reading of the language, on thousands of random trees and queries", async () => {
  await holdsFor(4_000, cases(randomQuery(TREE_WORDS, 1)), check);
  await holdsFor(2_000, cases(randomQuery(TREE_WORDS, 2)), check);
  expect(seen.rows).toBeGreaterThan(1_000);
  expect(seen.evidence).toBeGreaterThan(100);
}, 120_000);

test("evidence that is reached in several ways keeps its largest value", async () => {
  await holdsFor(800, cases(randomChains(TREE_WORDS)), check);
}, 60_000);

test("a query and its canonical text evaluate alike", async () => {
  await holdsFor(300, cases(randomQuery(TREE_WORDS, 2)), async ({ query, ...rest }) =>
    check({ ...rest, query: parse(print(query)).ast }),
  );
}, 60_000);
