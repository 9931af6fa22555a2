import { expect, test } from "@jest/globals";
import { latency, pairedDifference } from "./statistics.js";

test("quantiles do not depend on the order of the times", () => {
  const times = Array.from({ length: 100 }, (_, index) => 100 - index);
  expect(latency(times)).toEqual({ count: 100, p50: 50.5, p95: 95.05, p99: 99.01, max: 100 });
});

test("a paired difference counts wins, losses and ties", () => {
  const result = pairedDifference([1, 0.5, 0, 1], [0, 0.5, 1, 0]);
  expect(result).toMatchObject({ difference: 0.25, better: 2, worse: 1, equal: 1 });
  expect(result.low).toBeLessThan(0.25);
  expect(result.high).toBeGreaterThan(0.25);
});

test("pairs of different lengths are refused", () => {
  expect(() => pairedDifference([1, 2], [1])).toThrow(RangeError);
});
