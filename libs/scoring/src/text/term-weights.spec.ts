import { expect, test } from "@jest/globals";
import { inverseDocumentFrequency, queryTerms, queryTermWeights, termWeights } from "./term-weights.js";

test("a weight is tf * 1.9 / (tf + .9 * (.6 + .4 * length / 24))", () => {
  // Three terms: poster twice, talk once. Norm: .9 * (.6 + .4 * 3 / 24) = .9 * .65 = .585.
  const weights = termWeights("Posters, and a poster talk");
  expect([...weights.keys()]).toEqual(["poster", "talk"]);
  expect(weights.get("poster")).toBeCloseTo(3.8 / 2.585, 12);
  expect(weights.get("talk")).toBeCloseTo(1.9 / 1.585, 12);
});

test("a text without terms has no weights", () => {
  expect(termWeights("").size).toBe(0);
  expect(termWeights("to be or not to be").size).toBe(0);
});

test("idf is ln(1 + (N - df + .5) / (df + .5))", () => {
  expect(inverseDocumentFrequency(10, 2)).toBeCloseTo(Math.log(1 + 8.5 / 2.5), 12);
  expect(inverseDocumentFrequency(0, 0)).toBeCloseTo(Math.log(2), 12);
  expect(inverseDocumentFrequency(7, 7)).toBeGreaterThan(0);
});

test("the terms of a condition are a set", () => {
  expect(queryTerms("poster posters talk")).toEqual(["poster", "talk"]);
});

test("Rel by hand: one of two terms matches, the other is in no document but still divides", () => {
  const statistics = { documents: 4, frequencies: new Map([["poster", 1]]) };
  const factors = queryTermWeights(["poster", "zebra"], statistics);
  // idf(poster) = ln(1 + 3.5 / 1.5) = 1.203973, idf(zebra) = ln(1 + 4.5 / .5) = 2.302585.
  const value = (factors.get("poster") ?? 0) * (termWeights("poster").get("poster") ?? 0);
  // One term: weight 1.9 / (1 + .9 * (.6 + .4 / 24)) = 1.9 / 1.555 = 1.221865.
  expect(value).toBeCloseTo((1.2039728 * 1.221865) / ((1.2039728 + 2.3025851) * 1.9), 6);
});

test("no document reaches 1", () => {
  const factors = queryTermWeights(["poster"], { documents: 9, frequencies: new Map([["poster", 3]]) });
  const value = (factors.get("poster") ?? 0) * (termWeights("poster ".repeat(10_000)).get("poster") ?? 0);
  expect(value).toBeLessThan(1);
});
