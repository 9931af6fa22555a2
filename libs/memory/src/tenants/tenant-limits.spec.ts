import { expect, test } from "@jest/globals";
import type { OwnTenantLimits, TenantLimits } from "#core";
import { createTenantLimits } from "./tenant-limits.js";

const DEFAULTS: TenantLimits = { requestsPerSecond: 1_000, burst: 10_000, queuedJobs: 100 };

/** Limits of one tenant that a test changes, and how often they were read. */
function limitsOf(own: { limits?: OwnTenantLimits }) {
  const record = { id: "ten_a", name: "a", createdAt: 0, weight: 1 };
  const looks = { reads: 0, now: 1 };
  const get = async () => {
    looks.reads += 1;
    return own.limits && { ...record, limits: own.limits };
  };
  return { limits: createTenantLimits({ get }, DEFAULTS, () => looks.now), looks };
}

test("a tenant's own limits go before the deployment's, and a rate of its own has no other rate's burst", async () => {
  expect(await limitsOf({}).limits.of("ten_a")).toEqual(DEFAULTS);
  expect(await limitsOf({ limits: { nodes: 5, queuedJobs: 0 } }).limits.of("ten_a")).toEqual({
    ...DEFAULTS,
    ...{ nodes: 5, queuedJobs: 0 },
  });
  const slow = await limitsOf({ limits: { requestsPerSecond: 2 } }).limits.of("ten_a");
  expect(slow).toEqual({ requestsPerSecond: 2, queuedJobs: 100 });
  expect(await limitsOf({ limits: { burst: 3 } }).limits.of("ten_a")).toMatchObject({
    requestsPerSecond: 1_000,
    burst: 3,
  });
});

test("a tenant can be without a limit that the deployment has", async () => {
  const own = { queuedJobs: "unlimited", requestsPerSecond: "unlimited", burst: 3, nodes: 7 } as const;
  expect(await limitsOf({ limits: own }).limits.of("ten_a")).toEqual({ nodes: 7 });
});

test("limits are read once a second, however often they are asked for", async () => {
  const own: { limits?: OwnTenantLimits } = { limits: { nodes: 1 } };
  const { limits, looks } = limitsOf(own);
  await Promise.all(Array.from({ length: 10 }, () => limits.of("ten_a")));
  own.limits = { nodes: 2 };
  looks.now = 1_000;
  expect((await limits.of("ten_a")).nodes).toBe(1);
  expect(looks.reads).toBe(1);
  looks.now = 1_002;
  expect((await limits.of("ten_a")).nodes).toBe(2);
});
