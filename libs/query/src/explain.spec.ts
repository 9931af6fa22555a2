import { describe, expect, test } from "@jest/globals";
import { explain, type ExplainKnowledge } from "./explain.js";
import { parse } from "./parse.js";
import { plan } from "./plan.js";

const explained = (text: string, knowledge?: ExplainKnowledge) => explain(plan(parse(text).ast), knowledge);

describe("the text", () => {
  test("of a chain of unscored steps before a scored one is one run", () => {
    const { text } = explained('//A/B[2]//C[cost<20][node~="x"]', { scorer: "lexical", topK: 10, pushesDown: true });
    expect(text).toBe(
      `cut by weight, then document order, topK 10
  fold weight * node~="x"
    score node~="x" by lexical
      structure //A/B[2]//C[cost<20] (one store call)
        root {(root, 1)}
`,
    );
  });

  test("of aggregates has one evidence call per level of nesting", () => {
    const { text } = explained('//Day[max(/POI[open="yes"][avg(//X[node~="a"][b=1])]/B[c=2])*1-node~="q"]/POI[2]');
    expect(text).toBe(
      `cut by weight, then document order
  structure /POI[2] (one store call)
    fold weight * product(max of aggregate 0 (avg of aggregate 1 (node~="a", b=1), c=2), 1 - node~="q")
      score node~="a", node~="q" by the memory's scorer
        evidence (one store call for all contexts)
          aggregate 1: avg(//X[node~="a"][b=1]) runs //X
          evidence (one store call for all contexts)
            aggregate 0: max(/POI[open="yes"][avg(//X[node~="a"][b=1])]/B[c=2]) runs /POI[open="yes"]/B
            structure //Day (one store call)
              root {(root, 1)}
`,
    );
  });

  test("of a last step with one Local is a search, or both ways while the scorer is not known", () => {
    const query = '/A/B[x=1]//C[name~="y"]';
    const search = `  search //C for the best 5 by name~="y" with hybrid (exact)
    structure /A/B[x=1] (one store call)
      root {(root, 1)}
`;
    expect(explained(query, { scorer: "hybrid", topK: 5, pushesDown: true, exact: true }).text).toBe(
      `cut by weight, then document order, topK 5\n${search}`,
    );
    expect(explained(query).text).toBe(
      `cut by weight, then document order
  search //C for the best topK by name~="y" with the memory's scorer (approximate only above a threshold of candidates)
    structure /A/B[x=1] (one store call)
      root {(root, 1)}
or, if topK is not set, or the scorer is entailment:
  fold weight * name~="y"
    score name~="y" by the memory's scorer
      structure /A/B[x=1]//C (one store call)
        root {(root, 1)}
`,
    );
  });

  test.each<[ExplainKnowledge, string]>([
    [{ scorer: "hybrid" }, "hybrid (approximate only above a threshold of candidates)"],
    [{ scorer: "hybrid", approximateFrom: 20_000 }, "hybrid (approximate only from 20000 candidates on)"],
    [{ scorer: "hybrid", approximateFrom: "never" }, "hybrid (exact)"],
    [{ scorer: "hybrid", approximateFrom: 20_000, exact: true }, "hybrid (exact)"],
    [{ scorer: "lexical", approximateFrom: 20_000 }, "lexical (exact)"],
  ])("says from where on a search may be approximate: %j", (knowledge, search) => {
    expect(explained('//A[node~="x"]', { topK: 3, pushesDown: true, ...knowledge }).text).toContain(search);
  });

  test("says what a costly scorer is spared", () => {
    const { text } = explained('//A[node~="x"]', { scorer: "entailment", topK: 3, pushesDown: false });
    expect(text).toContain('score node~="x" by entailment, only nodes that can still enter the result');
    expect(text).not.toContain("search");
  });
});

test("the JSON has the same operators, each with what it reads from", () => {
  expect(explained("//A[avg(/B)]", { topK: 2 }).plan).toEqual({
    operator: "cut",
    topK: 2,
    input: {
      operator: "fold",
      predicates: ["avg of aggregate 0 (1)"],
      input: {
        operator: "evidence",
        aggregates: [{ aggregate: 0, fold: "avg", path: "/B", structure: "/B" }],
        storeCalls: 1,
        input: { operator: "structure", steps: "//A", storeCalls: 1, input: { operator: "root" } },
      },
    },
  });
});
