import { expect, test } from "@jest/globals";
import { ERRORS, LIMITS } from "#core";
import { QUEUE_SETTINGS, RETRY_BASE_MS, RETRY_MAX_MS, retryDelayMs } from "./settings.js";

test("delays double, the upper half of each is random, and none is over the maximum", () => {
  const queue = QUEUE_SETTINGS.insert;
  const delays = (random: number): number[] =>
    [1, 2, 3, 4].map((failed) => retryDelayMs(queue, undefined, failed, random));
  expect(delays(0)).toEqual([500, 1_000, 2_000, 4_000]);
  expect(delays(0.999_9)).toEqual([1_000, 2_000, 4_000, 8_000]);
  expect(retryDelayMs(queue, undefined, 40, 0.5)).toBeLessThanOrEqual(RETRY_MAX_MS);
});

test("an error with a pace of its own keeps it, and only retryable errors have one", () => {
  expect(retryDelayMs(QUEUE_SETTINGS.insert, "revision_conflict", 1, 0)).toBe(25);
  for (const code of Object.keys(RETRY_BASE_MS) as (keyof typeof ERRORS)[]) expect(ERRORS[code].retryable).toBe(true);
});

test("all tries of a read fit into the time that a read waits", () => {
  const { attempts } = QUEUE_SETTINGS.query;
  const longest = [...Array(attempts - 1).keys()].map((n) => retryDelayMs(QUEUE_SETTINGS.query, undefined, n + 1, 1));
  expect(longest.reduce((a, b) => a + b)).toBeLessThan(LIMITS.defaultReadWaitSeconds * 1_000);
});

test("a lock outlives its stalled checks", () => {
  for (const queue of Object.values(QUEUE_SETTINGS)) expect(queue.lockMs).toBeGreaterThan(2 * queue.stalledIntervalMs);
});
