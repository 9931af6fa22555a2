import { expect, test } from "@jest/globals";
import { cut } from "./cut.js";
import { nthLargest } from "./nth-largest.js";

const places = (weights: readonly number[], options: Parameters<typeof cut>[1] = {}): readonly number[] =>
  cut(Float64Array.from(weights), options).places;

test("rows stand by weight, then in document order", () => {
  expect(places([0.2, 0.5, 0.2, 0.9, 0.5])).toEqual([3, 1, 4, 0, 2]);
});

test("weights are rounded to six digits before they are sorted, and sent so", () => {
  const rows = cut(Float64Array.from([0.3000004, 0.3000001, 0.3000006]), {});
  expect(rows).toMatchObject({ places: [2, 0, 1], scores: [0.300001, 0.3, 0.3] });
});

test("a weight that rounds to 0 is no row", () => {
  expect(places([4e-7, 0, 6e-7])).toEqual([2]);
});

test("topK keeps the first of equal rows and says that there were more", () => {
  expect(cut(Float64Array.from([0.5, 0.5, 0.5, 0.1]), { topK: 2 })).toMatchObject({ places: [0, 1], more: true });
  expect(cut(Float64Array.from([0.5, 0.5]), { topK: 2 })).toMatchObject({ places: [0, 1], more: false });
});

test("minScore and minRatio are inclusive, whatever binary fractions make of the product", () => {
  expect(places([0.3, 0.29], { minScore: 0.3 })).toEqual([0]);
  expect(places([0.1, 0.033, 0.0329, 0.11], { minRatio: 0.3 })).toEqual([3, 0, 1]);
  expect(places([0.7, 0.07], { minRatio: 0.1 })).toEqual([0, 1]);
});

test("rows below the bounds do not count as more", () => {
  expect(cut(Float64Array.from([0.9, 0.1]), { topK: 1, minScore: 0.5 })).toMatchObject({ places: [0], more: false });
});

test("the n-th largest equals sorting", () => {
  let state = 7;
  const values = Float64Array.from({ length: 200 }, () => (state = (state * 16_807) % 2_147_483_647) % 50);
  const sorted = [...values].sort((a, b) => b - a);
  for (const n of [1, 2, 3, 10, 77, 199, 200]) expect(nthLargest(values, n)).toBe(sorted[n - 1]);
  expect(nthLargest(values, 201)).toBe(0);
  expect(nthLargest(values, 0)).toBe(0);
});
