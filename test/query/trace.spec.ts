import { expect, test } from "@jest/globals";
import { LIMITS } from "#core";
import { evaluate, parse, plan, type EvaluateOptions, type QueryTrace } from "#query";
import { ArrayRelevanceSource, ArrayStructureSource } from "./support/array-sources.js";
import { plantTrees, type TestTree } from "./support/tree.js";

const node = (type: string, text: string, ...children: TestTree[]): TestTree => ({
  ...{ type, attributes: { text }, metadata: {}, children },
});
const forest = [
  node("A", "0.5", node("B", "0.25"), node("B", "0")),
  node("A", "0", node("B", "1")),
  node("A", "1", node("B", "0.75", node("C", "0.5")), node("B", "0.5")),
];

const traced = async (
  text: string,
  options: EvaluateOptions,
  pushesDown = false,
  trees = forest,
): Promise<QueryTrace> => {
  const root = plantTrees(trees);
  const structure = new ArrayStructureSource(root);
  const relevance = new ArrayRelevanceSource(root, {
    pushesDown,
    relevance: (said) => Number(/[\d.]+$/.exec(said ?? "")?.[0] ?? 0),
  });
  const { trace } = await evaluate(plan(parse(text).ast), { structure, relevance }, { ...options, trace: true });
  if (trace === undefined) throw new Error("no trace");
  return trace;
};

test("each step shows the set before and after with its weights, what was sent, and what was asked", async () => {
  const { steps } = await traced('//A[node~="x"]/B[max(/C[node~="x"])*node~="x"]', {});
  expect(steps.map(({ step, text }) => [step, text])).toEqual([
    [1, '//A[node~="x"]'],
    [2, '/B[max(/C[node~="x"])*node~="x"]'],
  ]);
  expect(steps.map(({ before, after }) => [before.count, after.count])).toEqual([
    [1, 2],
    [2, 1],
  ]);
  expect(steps[0]?.before.nodes).toEqual([{ id: "root", type: "Memory", pathKey: "", weight: 1 }]);
  expect(steps[0]?.after.nodes.map(({ pathKey, weight }) => [pathKey, weight])).toEqual([
    ["a0000", 0.5],
    ["a0002", 1],
  ]);
  expect(steps[1]?.before).toEqual(steps[0]?.after);
  expect(steps[1]?.statements.map(({ purpose, rows }) => [purpose, rows])).toEqual([
    ["run", 4],
    ["evidence", 1],
  ]);
  expect(steps[1]?.scoring.map(({ text, candidates }) => [text, candidates])).toEqual([["x", 5]]);
});

test("each candidate shows what its brackets gave, the best first, with its evidence", async () => {
  const { steps } = await traced('/A[node~="x"]/B[max(/C[node~="x"])*node~="x"][1-node~="y"]', {});
  expect(steps[1]?.relevance).toHaveLength(4);
  expect(steps[1]?.relevance[0]).toEqual({
    ...{ id: "nod_a0002.a0000", type: "B", pathKey: "a0002.a0000" },
    weightBefore: 1,
    weight: 0.09375,
    predicates: [
      { text: 'max(/C[node~="x"])*node~="x"', value: 0.375 },
      { text: '1-[node~="y"]', value: 0.25 },
    ],
    evidence: [{ aggregate: 0, id: "nod_a0002.a0000.a0000", type: "C", pathKey: "a0002.a0000.a0000", score: 0.5 }],
    evidenceCount: 1,
  });
});

test("a run of several steps is one statement, with the sets between its steps", async () => {
  const { steps } = await traced('//A[2:3]/B[text!="0.5"]/*', {});
  expect(steps.map(({ before, after, statements }) => [before.count, after.count, statements.length])).toEqual([
    [1, 2, 0],
    [2, 2, 0],
    [2, 1, 1],
  ]);
});

test("a search shows the rows that it found, and its request", async () => {
  const { steps } = await traced('/A[1:]/B[node~="x"]', { topK: 2 }, true);
  expect(steps[0]).toMatchObject({ after: { count: 3 }, statements: [{ purpose: "run" }] });
  expect(steps[1]).toMatchObject({
    before: { count: 3 },
    statements: [],
    scoring: [{ field: "", text: "x", candidates: 3 }],
  });
  expect(steps[1]?.relevance.map(({ weight }) => weight)).toEqual([1, 0.75, 0.5]);
});

test("what was pruned is counted and not shown", async () => {
  const many = Array.from({ length: 400 }, (_, at) => node("A", at === 0 ? "1" : "0.01", node("B", "1")));
  const { steps } = await traced('/A[node~="x"]/B[node~="y"]', { topK: 1 }, false, many);
  expect(steps[1]?.pruned).toBe(144);
  expect(steps[1]?.before.count).toBe(400);
  expect(steps[1]?.after.count).toBe(256);
});

test("sets and relevances are bounded; counts are whole", async () => {
  const many = Array.from({ length: LIMITS.traceNodes + 50 }, () => node("A", "1"));
  const { steps } = await traced('/A[node~="x"]', {}, false, many);
  expect(steps[0]?.after).toMatchObject({ count: LIMITS.traceNodes + 50, nodes: { length: LIMITS.traceNodes } });
  expect(steps[0]?.relevance).toHaveLength(LIMITS.traceNodes);
});

test("a trace is plain data and changes no row", async () => {
  const trace = await traced('//A[node~="x"]/B[max(/C)]', {});
  expect(JSON.parse(JSON.stringify(trace))).toEqual(trace);
});
