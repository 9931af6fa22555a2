import { describe, expect, test } from "@jest/globals";
import { parse } from "./parse.js";
import { plan } from "./plan.js";
import { print } from "./print.js";

const planned = (text: string) => plan(parse(text).ast);

/** Per stage, the axis and test of its steps, with the number of filters. */
const runs = (text: string): readonly string[] =>
  planned(text).stages.map(({ steps }) =>
    steps
      .map(({ axis, type, position, comparisons }) => {
        const place = position === undefined ? "" : "[p]";
        return `${axis === "child" ? "/" : "//"}${type ?? "*"}${place}${"[c]".repeat(comparisons.length)}`;
      })
      .join(""),
  );

describe("structural runs", () => {
  test.each<[string, readonly string[]]>([
    ["//A", ["//A"]],
    ['//A/B[2]//C[cost<20][node~="x"]', ["//A/B[p]//C[c]"]],
    ['//A[node~="x"]/B/C[1]//D[node~="y"]/E', ["//A", "/B/C[p]//D", "/E"]],
    ["//A[a=1][b=2]/*[c=3]", ["//A[c][c]/*[c]"]],
    ['//A[a=1*node~="x"]/B', ["//A", "/B"]],
    ["//A[max(/B)]", ["//A"]],
  ])("of %s are %j", (text, expected) => {
    expect(runs(text)).toEqual(expected);
  });
});

describe("push-down", () => {
  test.each(['//A[node~="x"]', '/A/B[2]/C[a=1]//D[name~="x"]', '//*[node~="x"]', '//A[[node~="x"]]'])(
    "covers %s",
    (text) => {
      expect(planned(text).pushDown).toMatchObject({ text: "x" });
    },
  );

  test.each([
    "//A",
    '//A[node~="x"]/B',
    '//A[node~="x"]/B[node~="y"]',
    '//A[2][node~="x"]',
    '//A[a=1][node~="x"]',
    '//A[node~="x"][node~="y"]',
    '//A[1-node~="x"]',
    '//A[node~="x"*a=1]',
    '//A[max(/B[node~="x"])]',
  ])("does not cover %s", (text) => {
    expect(planned(text).pushDown).toBeUndefined();
  });
});

describe("aggregates", () => {
  test("keep the chain's scored steps and its end, and filter by comparisons but the very last bracket", () => {
    const [aggregate] =
      planned('//A[avg(/B[a=1]/C[node~="x"][b=2]/D[c=3][d=4])]').stages[0]?.levels[0]?.aggregates ?? [];
    expect(aggregate?.path.keep).toEqual([false, true, true]);
    expect(aggregate?.path.steps.map(({ comparisons }) => comparisons.map(({ name }) => name))).toEqual([
      ["a"],
      ["b"],
      ["c"],
    ]);
    expect(aggregate?.links.map((scored) => scored.map(({ kind }) => kind))).toEqual([["local"], ["comparison"]]);
  });

  test("ask for values only where something is compared", () => {
    const values = (text: string) =>
      planned(text).stages.map((stage) => [stage.values, ...stage.levels.map((l) => l.values)]);
    expect(values('//A[a=1][avg(/B[a=1][node~="x"])]')).toEqual([[false, false]]);
    expect(values("//A[avg(/B[a=1])]")).toEqual([[false, true]]);
    expect(values("//A[a=1*avg(/B[max(/C[b=2])])]")).toEqual([[true, false, true]]);
  });

  test("are counted in reading order over the whole query, with those inside", () => {
    const { stages, aggregates } = planned("//A[max(/B[min(/C)])*avg(/D)]/E[gmean(/F)]");
    const indexes = stages.flatMap(({ levels }) => levels.flatMap((level) => level.aggregates));
    expect(indexes.map(({ fold, index }) => [fold, index]).sort()).toEqual([
      ["avg", 2],
      ["gmean", 3],
      ["max", 0],
      ["min", 1],
    ]);
    expect(aggregates).toBe(4);
  });
});

test("a Local that occurs in two stages is one Local, and shared", () => {
  const { locals } = planned('//A[node~="x"][node~="y"]/B[max(//C[node~="x"])]');
  expect(locals).toEqual([
    { field: "", text: "x", shared: true },
    { field: "", text: "y", shared: false },
  ]);
});

test("the same tree gives the same plan, and the plan says its text", () => {
  const text = '//A[avg(/B[node~="x"])]';
  expect(planned(text)).toEqual(planned(text));
  expect(planned(` ${text} `).text).toBe(print(parse(text).ast));
});

test("a syntax tree whose nodes are used twice is planned by place, not by identity", () => {
  const open = { kind: "comparison", name: "open", operator: "=", value: 1 } as const;
  const inner = { kind: "step", axis: "child", type: "B", position: undefined, predicates: [open, open] } as const;
  const aggregate = { kind: "aggregate", fold: "avg", path: { kind: "query", steps: [inner] } } as const;
  const step = { kind: "step", axis: "child", type: "A", position: undefined, predicates: [aggregate] } as const;
  const [only] = plan({ kind: "query", steps: [step] }).stages[0]?.levels[0]?.aggregates ?? [];
  expect([only?.path.steps[0]?.comparisons.length, only?.links[0]?.length]).toEqual([1, 1]);
});
