/** The short form of `bench fairness`: orders and shares, no times. */
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { JOB_SETTINGS } from "#jobs";
import { startRedis, type TestRedis } from "../../test/support/redis.js";
import { jainIndex, placesAfterFlood, servedCosts } from "./fairness-runs.js";

let redis: TestRedis;

beforeAll(async () => {
  redis = await startRedis();
});

afterAll(async () => {
  await redis.close();
});

test("jobs of small tenants that come after a flood run before nearly all of it", async () => {
  const [flood, small, jobs] = [600, 9, 4];
  const places = await placesAfterFlood({ redis: redis.address, prefix: "flood", flood, small, jobs });
  expect(places).toHaveLength(small * jobs);
  // What is in flight when they come, and a round of everyone's.
  expect(Math.max(...places)).toBeLessThanOrEqual(JOB_SETTINGS.lanes.interactive.window + 2 * small * jobs);
});

test("tenants with equal backlogs are served equally", async () => {
  const weights = Object.fromEntries(Array.from({ length: 10 }, (_, number) => [`ten_${number}`, 1]));
  const served = await servedCosts({ redis: redis.address, prefix: "equal", weights, jobs: 200 });
  expect(jainIndex([...served.values()])).toBeGreaterThanOrEqual(0.95);
});

test("tenants with weights 4, 2 and 1 are served 4 : 2 : 1", async () => {
  const weights = { ten_a: 4, ten_b: 2, ten_c: 1 };
  const served = await servedCosts({ redis: redis.address, prefix: "weights", weights, jobs: 500 });
  const perWeight = Object.entries(weights).map(([tenant, weight]) => (served.get(tenant) ?? 0) / weight);
  const mean = perWeight.reduce((total, value) => total + value, 0) / perWeight.length;
  for (const value of perWeight) expect(Math.abs(value / mean - 1)).toBeLessThanOrEqual(0.05);
});

test("Jain's index is 1 for equals and 1/n for one who has everything", () => {
  expect(jainIndex([3, 3, 3, 3])).toBeCloseTo(1);
  expect(jainIndex([8, 0, 0, 0])).toBeCloseTo(0.25);
});
