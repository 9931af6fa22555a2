/** How often the ports are called, and about what. */
import { describe, expect, test } from "@jest/globals";
import { EspalierError } from "#core";
import { evaluate, parse, plan, type EvaluateOptions, type RelevanceSource } from "#query";
import { ArrayRelevanceSource, ArrayStructureSource } from "./support/array-sources.js";
import type { RelevanceFunction } from "./support/relevance-function.js";
import { plantTrees, type TestTree } from "./support/tree.js";

const node = (type: string, text: string, ...children: TestTree[]): TestTree => ({
  ...{ type, attributes: { text }, metadata: {}, children },
});
const times = <T>(count: number, make: (at: number) => T): T[] => Array.from({ length: count }, (_, at) => make(at));

/** 3 A, each with 4 B, each with 5 C. */
const forest = times(3, (a) =>
  node("A", `a${a}`, ...times(4, (b) => node("B", `b${b}`, ...times(5, (c) => node("C", `c${c}`))))),
);

const run = async (
  text: string,
  options: EvaluateOptions = {},
  relevanceOptions: { readonly pushesDown?: boolean; readonly relevance?: RelevanceFunction } = { pushesDown: false },
  trees: readonly TestTree[] = forest,
) => {
  const root = plantTrees(trees);
  const structure = new ArrayStructureSource(root);
  const relevance = new ArrayRelevanceSource(root, relevanceOptions);
  const evaluation = await evaluate(plan(parse(text).ast), { structure, relevance }, options);
  const asked = relevance.requests.map(({ field, text: condition, candidates }) => [
    field,
    condition,
    candidates.length,
  ]);
  return { ...evaluation, structure, relevance, asked };
};

describe("store calls", () => {
  test('//A/B[2]//C[cost<20][node~="x"] makes exactly one before scoring, and none after', async () => {
    const { structure, asked } = await run('//A/B[2]//C[text!="c0"][node~="x"]');
    expect(structure.runs).toHaveLength(1);
    expect(structure.runs[0]?.contexts).toBe("root");
    expect(structure.evidences).toHaveLength(0);
    expect(asked).toEqual([["", "x", 4]]);
  });

  test("evidence of all contexts and all aggregates of a step is one more", async () => {
    const { structure } = await run('//B[max(/C[node~="x"])*avg(/C[2])][min(//C[text="c1"])]');
    expect(structure.runs).toHaveLength(1);
    expect(structure.evidences).toHaveLength(1);
    expect(structure.evidences[0]?.contexts).toHaveLength(12);
    expect(structure.evidences[0]?.paths).toHaveLength(3);
  });

  test("a level of nesting is one more, whatever the number of aggregates in it", async () => {
    const { structure } = await run('//A[max(/B[avg(/C[node~="x"])*min(/C)])][1-max(//B[max(/C)])]');
    expect(structure.evidences.map(({ contexts, paths }) => [contexts.length, paths.length])).toEqual([
      [3, 2],
      [12, 3],
    ]);
  });

  test("there is one run per scored step, with the weights of its contexts", async () => {
    const half: RelevanceFunction = (text) => (text?.includes("1") === true ? 0.5 : 0.25);
    const { structure } = await run('//A[node~="x"]/B/C[node~="y"]', {}, { pushesDown: false, relevance: half });
    expect(structure.runs.map(({ steps }) => steps.length)).toEqual([1, 2]);
    const contexts = structure.runs[1]?.contexts;
    expect(contexts === "root" ? [] : contexts?.map(({ weight }) => weight)).toEqual([0.25, 0.5, 0.25]);
  });

  test("nothing is asked once the set is empty", async () => {
    const { structure, asked, rows } = await run('//Z[node~="x"][max(/A)]//C[node~="y"]');
    expect([structure.runs.length, structure.evidences.length, asked.length, rows.length]).toEqual([1, 0, 0, 0]);
    const none = await run('//A[max(/Z[max(/C[node~="x"])])]');
    expect([none.structure.evidences.length, none.asked.length]).toEqual([1, 0]);
  });

  test("values are fetched only where something is compared outside the store", async () => {
    const values = async (text: string) => {
      const { structure } = await run(text);
      return [...structure.runs, ...structure.evidences].map((call) => call.values);
    };
    expect(await values('//A[text="a1"][max(/B[text="b1"][node~="x"])]')).toEqual([false, false]);
    expect(await values('//A[text="a1"*node~="x"][max(/B[text="b1"])]')).toEqual([true, true]);
  });

  test("a query without scored brackets reads one row more than it shows", async () => {
    const { structure, rows, more } = await run("//C", { topK: 7 });
    expect([structure.runs[0]?.limit, rows.length, more]).toEqual([8, 7, true]);
    const scored = await run('//A[node~="x"]/B', { topK: 7 });
    expect(scored.structure.runs.map(({ limit }) => limit)).toEqual([undefined, undefined]);
  });
});

describe("scoring", () => {
  test("each distinct Local is asked once, for the union of candidates and evidence", async () => {
    const { asked, relevance } = await run(
      '//B[node~="x"*max(node~="x",text~="x")][avg(/C[node~="x"])*max(//C[node~="x"])]',
    );
    expect(asked).toEqual([
      ["", "x", 72],
      ["text", "x", 12],
    ]);
    expect(new Set(relevance.requests[0]?.candidates.map(({ id }) => id)).size).toBe(72);
  });

  test("values that are known are not asked for again in a later step", async () => {
    const one: RelevanceFunction = () => 0.5;
    const { asked } = await run('//A[max(/B[node~="x"])]/B[2:3][node~="x"]/C[node~="x"]', {}, { relevance: one });
    expect(asked).toEqual([
      ["", "x", 12],
      ["", "x", 10],
    ]);
  });

  test("one value of a scorer that is no number is refused", async () => {
    await expect(run('//A[node~="x"]', {}, { relevance: () => Number.NaN })).rejects.toMatchObject({
      code: "model_bad_output",
    });
  });
});

describe("push-down", () => {
  test("asks the scorer for the best of the last step, from the contexts of one run", async () => {
    const { structure, relevance, asked, rows, more } = await run(
      '//A/B[2:3]//C[node~="x"]',
      { topK: 3, exact: true },
      {},
    );
    expect(structure.runs.map(({ steps }) => steps.length)).toEqual([2]);
    expect(asked).toEqual([]);
    expect(relevance.searches).toEqual([
      {
        ...{ field: "", text: "x", limit: 4, exact: true },
        filter: { type: "C", scope: { kind: "descendants", of: ["a0000.a0001", "a0000.a0002"] } },
      },
    ]);
    expect([rows.length, more]).toEqual([3, true]);
  });

  test("needs no run from the root, and no type for a wildcard", async () => {
    const { structure, relevance } = await run('//*[node~="x"]', { topK: 3 }, {});
    expect(structure.runs).toEqual([]);
    expect(relevance.searches[0]?.filter).toEqual({ scope: { kind: "descendants", of: [""] } });
    const children = await run('/A[node~="x"]', { topK: 3 }, {});
    expect(children.relevance.searches[0]?.filter).toEqual({ type: "A", scope: { kind: "children", of: [null] } });
  });

  test("is not used without topK, nor when no context is left, nor by a scorer that cannot", async () => {
    expect((await run('//C[node~="x"]', {}, {})).relevance.searches).toEqual([]);
    expect((await run('//Z/C[node~="x"]', { topK: 3 }, {})).relevance.searches).toEqual([]);
    expect((await run('//C[node~="x"]', { topK: 3 }, { pushesDown: false })).relevance.searches).toEqual([]);
  });

  test("an approximate answer is said to be one", async () => {
    const root = plantTrees(forest);
    const relevance = new ArrayRelevanceSource(root);
    const approximate: RelevanceSource = {
      pushesDown: true,
      relevance: (request) => relevance.relevance(request),
      topK: async (request) => {
        const found = await relevance.topK(request);
        return { ...found, trace: { ...found.trace, approximate: true } };
      },
    };
    const sources = { structure: new ArrayStructureSource(root), relevance: approximate };
    const query = plan(parse('//C[node~="x"]').ast);
    expect((await evaluate(query, sources, { topK: 2 })).approximate).toBe(true);
    expect((await evaluate(query, sources, {})).approximate).toBe(false);
  });
});

describe("pruning of a costly scorer", () => {
  /** 40 A whose weight falls, each with 20 B: 800 candidates of the last step. */
  const falling = times(40, (a) => node("A", `w${a}`, ...times(20, (b) => node("B", `v${b}`))));
  const relevance: RelevanceFunction = (text, condition) => {
    const number = Number(/\d+/.exec(text ?? "")?.[0] ?? 0);
    return condition === "x" ? 1 - number / 40 : 0.9 - number / 100;
  };
  const asks = (found: Awaited<ReturnType<typeof run>>, condition: string): number =>
    found.asked.filter(([, text]) => text === condition).reduce((sum, [, , count]) => sum + Number(count), 0);

  test("asks only about candidates that can still enter the result", async () => {
    const pruned = await run('//A[node~="x"]/B[node~="y"]', { topK: 5 }, { pushesDown: false, relevance }, falling);
    const whole = await run('//A[node~="x"]/B[node~="y"]', {}, { pushesDown: false, relevance }, falling);
    expect(pruned.rows).toEqual(whole.rows.slice(0, 5));
    expect(asks(whole, "y")).toBe(800);
    expect(asks(pruned, "y")).toBe(256);
    expect(pruned.more).toBe(true);
  });

  test("candidates that could not become rows are not more rows", async () => {
    const query = '//B[text="v3"*node~="y"]';
    const pruned = await run(query, { topK: 300 }, { pushesDown: false, relevance }, falling);
    const whole = await run(query, { topK: 300 }, { pushesDown: true, relevance }, falling);
    expect(pruned.rows).toEqual(whole.rows);
    expect([pruned.more, whole.more]).toEqual([false, false]);
  });

  test("asks nobody twice", async () => {
    const { relevance: source } = await run(
      '//A[node~="x"]/B[node~="y"]',
      { topK: 300 },
      { pushesDown: false, relevance },
      falling,
    );
    const seen = source.requests.flatMap(({ text, candidates }) => candidates.map(({ id }) => `${text} ${id}`));
    expect(new Set(seen).size).toBe(seen.length);
  });

  test("a factor that is 0 spares the others", async () => {
    const zero: RelevanceFunction = (text, condition) =>
      condition === "x" ? (text?.includes("1") === true ? 0.5 : 0) : 0.7;
    const found = await run(
      '//B[node~="x"][node~="y"]',
      { topK: 500 },
      { pushesDown: false, relevance: zero },
      falling,
    );
    expect(asks(found, "x")).toBe(800);
    expect(asks(found, "y")).toBe(440);
    const compared = await run(
      '//B[text="v3"*node~="y"]',
      { topK: 500 },
      { pushesDown: false, relevance: zero },
      falling,
    );
    expect(asks(compared, "y")).toBe(40);
  });

  test("minScore prunes too", async () => {
    const found = await run(
      '//A[node~="x"]/B[node~="y"]',
      { topK: 800, minScore: 0.7 },
      { pushesDown: false, relevance },
      falling,
    );
    expect(asks(found, "y")).toBe(260);
  });

  test("equal promises are asked about in one request", async () => {
    const { asked } = await run('//B[node~="y"]', { topK: 5 }, { pushesDown: false, relevance }, falling);
    expect(asked).toEqual([["", "y", 800]]);
  });

  test("without topK everything is asked about", async () => {
    const { asked } = await run('//A[node~="x"]/B[node~="y"]', {}, { pushesDown: false, relevance }, falling);
    expect(asked.map(([, , count]) => count)).toEqual([40, 800]);
  });
});

describe("cancellation", () => {
  test("stops before the next call, with the signal's own reason if that is one of ours", async () => {
    const reason = new EspalierError("store_unavailable", "The worker stops.");
    await expect(run('//A[node~="x"]', { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    await expect(run("//A", { signal: AbortSignal.abort() })).rejects.toMatchObject({ code: "cancelled" });
  });

  test("reaches an evaluation that has begun", async () => {
    const root = plantTrees(forest);
    const controller = new AbortController();
    const structure = new ArrayStructureSource(root);
    const relevance = new ArrayRelevanceSource(root, {
      relevance: () => {
        controller.abort();
        return 0.5;
      },
    });
    const sources = { structure, relevance };
    const asked = evaluate(plan(parse('//A[node~="x"]/B[node~="y"]').ast), sources, { signal: controller.signal });
    await expect(asked).rejects.toMatchObject({ code: "cancelled" });
    expect(structure.runs).toHaveLength(1);
  });
});
