/** The language page, sentence by sentence, on trees small enough to check by hand. */
import { describe, expect, test } from "@jest/globals";
import type { Attributes } from "#core";
import { evaluate, parse, plan, type EvaluateOptions } from "#query";
import { ArrayRelevanceSource, ArrayStructureSource } from "./support/array-sources.js";
import type { RelevanceFunction } from "./support/relevance-function.js";
import { plantTrees, type TestTree } from "./support/tree.js";

const node = (type: string, attributes: Attributes = {}, ...children: TestTree[]): TestTree => ({
  ...{ type, attributes, metadata: {}, children },
});

/** Texts are `name: value`; a condition `x` finds the number behind `x=` in the text, or 0. */
const written: RelevanceFunction = (text, condition) =>
  Number(new RegExp(`${condition}=([0-9.e-]+)`).exec(text ?? "")?.[1] ?? 0);

/** Rows as `name score`. */
const ask = async (text: string, trees: readonly TestTree[], options: EvaluateOptions = {}) => {
  const root = plantTrees(trees);
  const names = new Map<string, string>();
  const visit = (at: typeof root): void => {
    names.set(at.key.id, String(at.attributes["name"] ?? at.key.type));
    at.children.forEach(visit);
  };
  visit(root);
  const sources = {
    structure: new ArrayStructureSource(root),
    relevance: new ArrayRelevanceSource(root, { relevance: written, pushesDown: false }),
  };
  const { rows } = await evaluate(plan(parse(text).ast), sources, { ...options, evidence: true });
  return rows.map(({ key, score, evidence }) => {
    const found = evidence.map((one) => `${one.aggregate}:${names.get(one.key.id)}=${one.score}`).join(" ");
    return `${names.get(key.id)} ${score}${found === "" ? "" : ` (${found})`}`;
  });
};

describe("axes and positions", () => {
  const trip = [
    node(
      "Trip",
      {},
      node("Day", { name: "d1" }, node("Poi", { name: "p1" }), node("Poi", { name: "p2" })),
      node("Day", { name: "d2" }),
      node("Day", { name: "d3" }, node("Poi", { name: "p3" }), node("Poi", { name: "p4" })),
    ),
  ];
  test.each([
    ["/Trip", ["Trip 1"]],
    ["/Day", []],
    ["//Day", ["d1 1", "d2 1", "d3 1"]],
    ["//Day[2]", ["d2 1"]],
    ["//Day[-1]/Poi", ["p3 1", "p4 1"]],
    ["//Day/Poi[1]", ["p1 1"]],
    ["//Day/Poi[2:3]", ["p2 1", "p3 1"]],
    ["//Day[9]", []],
    ["//Day[3:2]", []],
    ["//Day[-9:1]", ["d1 1"]],
    ["/*/*[1]/*", ["p1 1", "p2 1"]],
    ["/Trip//*[-1]", ["p4 1"]],
  ])("%s", async (query, expected) => {
    expect(await ask(query, trip)).toEqual(expected);
  });
});

describe("weights", () => {
  const tree = [
    node(
      "A",
      { name: "a1", text: "x=0.5" },
      node("A", { name: "a2", text: "x=0.8" }, node("B", { name: "b1", text: "y=0.5" })),
    ),
    node("A", { name: "a3", text: "x=0" }, node("B", { name: "b2", text: "y=1" })),
    node("A", { name: "a4", text: "x=0.2" }, node("B", { name: "b3", text: "y=1" })),
  ];
  test.each([
    ["predicates multiply along the steps", '//A[node~="x"]/B[node~="y"]', ["b1 0.4", "b3 0.2"]],
    ["a node reached twice keeps its largest weight", '//A[node~="x"]//B', ["b1 0.8", "b3 0.2"]],
    ["a node with weight 0 leaves, and a later position counts the survivors", '//A[node~="x"]/B[2]', ["b3 0.2"]],
    ["several brackets multiply", '//A[node~="x"][1-node~="x"]', ["a1 0.25", "a2 0.16", "a4 0.16"]],
    ["so do factors", '//A[node~="x"*(1-node~="x")]', ["a1 0.25", "a2 0.16", "a4 0.16"]],
    ["a mean", '//A[(node~="x"+1-node~="x"+node~="x")/3]', ["a2 0.6", "a1 0.5", "a4 0.4", "a3 0.333333"]],
    ["folds of relevances", '//A[max(node~="x",1-node~="x")]', ["a3 1", "a2 0.8", "a4 0.8", "a1 0.5"]],
    ["gmean", '//A[gmean(node~="x",1-node~="x")]', ["a1 0.5", "a2 0.4", "a4 0.4"]],
    ["a comparison is 0 or 1", '//A[name!="a2"*node~="x"]', ["a1 0.5", "a4 0.2"]],
  ])("%s: %s", async (_, query, expected) => {
    expect(await ask(query, tree)).toEqual(expected);
  });

  test("a missing attribute and an empty text are 0, so their complement is 1", async () => {
    const two = [node("A", { name: "none" }), node("A", { name: "empty", about: "" })];
    expect(await ask('//A[about~="x"]', two)).toEqual([]);
    expect(await ask('//A[1-about~="x"]', two)).toEqual(["none 1", "empty 1"]);
  });

  test("metadata is compared, never scored", async () => {
    const one = [{ ...node("A", { name: "a" }), metadata: { about: "x=1" } }];
    expect(await ask('//A[about~="x"]', one)).toEqual([]);
    expect(await ask('//A[about="x=1"]', one)).toEqual(["a 1"]);
  });
});

describe("rounding", () => {
  test("noise around 0 does not keep a node", async () => {
    expect(await ask('//A[node~="x"]', [node("A", { text: "x=4e-7" })])).toEqual([]);
  });

  test("a Local is rounded before the arithmetic, the weight after it", async () => {
    const tree = [node("A", { text: "x=0.3333333 y=0.3333333" })];
    expect(await ask('//A[node~="x"*node~="y"]', tree)).toEqual(["A 0.111111"]);
    // 1 - 0.9999996 is 4e-7, but 1 - 1 is 0.
    expect(await ask('//A[1-node~="x"]', [node("A", { text: "x=0.9999996" })])).toEqual([]);
  });

  test("equal rounded weights stand in document order", async () => {
    const tree = [node("A", { name: "a", text: "x=0.5000001" }), node("A", { name: "b", text: "x=0.5000004" })];
    expect(await ask('//A[node~="x"]', tree)).toEqual(["a 0.5", "b 0.5"]);
  });
});

describe("aggregates", () => {
  const list = [
    node(
      "Project",
      { name: "p" },
      node("Task", { name: "t1", status: "open", text: "x=0.8" }),
      node("Task", { name: "t2", status: "done", text: "x=0.4" }),
      node("Task", { name: "t3", status: "open", text: "x=0" }),
    ),
    node("Project", { name: "q" }),
  ];
  test.each([
    ["a value of 0 stays evidence", 'avg(/Task[node~="x"])', ["p 0.4 (0:t1=0.8 0:t2=0.4 0:t3=0)"]],
    ["a comparison filters", 'avg(/Task[status="open"][node~="x"])', ["p 0.4 (0:t1=0.8 0:t3=0)"]],
    ["the very last comparison is a share", 'avg(/Task[status="open"])', ["p 0.666667 (0:t1=1 0:t3=1 0:t2=0)"]],
    ["also behind a Local", 'max(/Task[node~="x"][status="done"])', ["p 0.4 (0:t2=0.4 0:t1=0 0:t3=0)"]],
    ["not inside a product", 'min(/Task[status="open"*1-node~="x"][2][node~="x"])', undefined],
    ["a factor is a value", 'avg(/Task[status="open"*(1-node~="x")])', ["p 0.4 (0:t3=1 0:t1=0.2 0:t2=0)"]],
    ["no evidence is 0", "min(/Note)", []],
    ["a path without predicates is 1", "avg(/Task)", ["p 1 (0:t1=1 0:t2=1 0:t3=1)"]],
    ["a position counts within one context", 'max(/Task[2][node~="x"])', ["p 0.4 (0:t2=0.4)"]],
    ["a position counts before the comparison of its step", 'max(/Task[1][status="done"][node~="x"])', []],
    ["gmean is 0 if one is", 'gmean(/Task[node~="x"])', []],
    ["the complement of no evidence is 1", '1-max(/Task[node~="x"])', ["q 1", "p 0.2 (0:t1=0.8 0:t2=0.4 0:t3=0)"]],
  ])("%s: %s", async (_, bracket, expected) => {
    const asked = ask(`/Project[${bracket}]`, list);
    if (expected === undefined) await expect(asked).rejects.toMatchObject({ code: "position_after_predicate" });
    else expect(await asked).toEqual(expected);
  });

  test("a comparison before the last step filters what lies below it", async () => {
    const tree = [
      node(
        "P",
        { name: "p" },
        node("T", { status: "open" }, node("N", { name: "n1", text: "x=0.2" })),
        node("T", { status: "done" }, node("N", { name: "n2", text: "x=1" })),
      ),
    ];
    expect(await ask('/P[max(/T[status="open"]/N[node~="x"])]', tree)).toEqual(["p 0.2 (0:n1=0.2)"]);
    expect(await ask('/P[avg(/T[status="open"]/N)]', tree)).toEqual(["p 1 (0:n1=1)"]);
  });

  test("predicates along the path multiply, and evidence reached twice keeps its largest value", async () => {
    const tree = [
      node(
        "P",
        { name: "p" },
        node("S", { text: "x=0.5" }, node("S", { text: "x=0.9" }, node("N", { name: "n", text: "y=0.5" }))),
      ),
    ];
    expect(await ask('/P[max(//S[node~="x"]//N[node~="y"])]', tree)).toEqual(["p 0.45 (0:n=0.45)"]);
  });

  test("aggregates nest, and evidence is that of the outer one", async () => {
    const tree = [
      node(
        "W",
        { name: "w" },
        node("P", { name: "p1" }, node("T", { text: "x=1" }), node("T", { text: "x=0" })),
        node("P", { name: "p2" }, node("T", { text: "x=1" })),
        node("P", { name: "p3" }),
      ),
    ];
    expect(await ask('/W[avg(/P[avg(/T[node~="x"])])]', tree)).toEqual(["w 0.5 (0:p2=1 0:p1=0.5 0:p3=0)"]);
  });

  test("evidence belongs to the last step, under the aggregate's place in the whole query", async () => {
    const tree = [
      node("A", { name: "a" }, node("B", { name: "b", text: "x=0.5" }, node("C", { name: "c", text: "y=0.5" }))),
    ];
    expect(await ask('/A[max(/B[node~="x"])]/B[max(/C[node~="y"])*max(//C)]', tree)).toEqual([
      "b 0.25 (1:c=0.5 2:c=1)",
    ]);
  });
});

describe("the cut", () => {
  const tree = ["0.9", "0.6", "0.6", "0.1"].map((value, at) => node("A", { name: `a${at + 1}`, text: `x=${value}` }));
  test.each<[EvaluateOptions, readonly string[]]>([
    [{}, ["a1 0.9", "a2 0.6", "a3 0.6", "a4 0.1"]],
    [{ topK: 2 }, ["a1 0.9", "a2 0.6"]],
    [{ minScore: 0.6 }, ["a1 0.9", "a2 0.6", "a3 0.6"]],
    [{ minRatio: 0.5 }, ["a1 0.9", "a2 0.6", "a3 0.6"]],
    [{ minRatio: 0.7 }, ["a1 0.9"]],
  ])("%j", async (options, expected) => {
    expect(await ask('//A[node~="x"]', tree, options)).toEqual(expected);
  });

  test("evidence is cut at its limit, the best kept, and the result says so", async () => {
    const root = plantTrees([node("P", {}, ...tree)]);
    const sources = {
      structure: new ArrayStructureSource(root),
      relevance: new ArrayRelevanceSource(root, { relevance: written }),
    };
    const query = plan(parse('/P[avg(/A[node~="x"])]').ast);
    const { rows, evidenceCut } = await evaluate(query, sources, { evidence: true, evidenceLimit: 2 });
    expect(rows[0]?.evidence.map(({ score }) => score)).toEqual([0.9, 0.6]);
    expect(evidenceCut).toBe(true);
    expect((await evaluate(query, sources, { evidence: true, evidenceLimit: 4 })).evidenceCut).toBe(false);
  });
});
