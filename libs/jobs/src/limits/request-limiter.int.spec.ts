import { afterAll, afterEach, beforeAll, expect, test } from "@jest/globals";
import { until } from "../../../../test/support/until.js";
import { openJobBench, type JobBench } from "../testing/job-bench.js";
import { createRequestLimiter, type RequestLimiter } from "./request-limiter.js";

let bench: JobBench;
const opened: RequestLimiter[] = [];
beforeAll(async () => {
  bench = await openJobBench();
});
afterEach(async () => {
  for (const limiter of opened.splice(0)) await limiter.close();
  await bench.reset();
});
afterAll(() => bench.close());

/** A limiter as another process would have it. */
async function open(): Promise<RequestLimiter> {
  const limiter = createRequestLimiter({ redis: bench.redis.address, settings: bench.settings });
  opened.push(limiter);
  // The first call may come before the connection.
  for (let connected = false; !connected;) {
    connected = await limiter.take("ten_warm", { requestsPerSecond: 1, burst: 1 }).then(
      () => true,
      () => false,
    );
  }
  return limiter;
}

/** A token in a thousand seconds: no test is so slow that one comes back. */
const SLOW = { requestsPerSecond: 0.001, burst: 3 };

const bucketOf = (tenant: string): string => `${bench.settings.prefix}:{${tenant}}:bucket`;

test("a bucket gives its burst at once, then nothing until a token is back", async () => {
  const limiter = await open();
  for (const remaining of [2, 1, 0]) {
    expect(await limiter.take("ten_a", SLOW)).toMatchObject({ allowed: true, remaining });
  }
  const refused = await limiter.take("ten_a", SLOW);
  expect(refused).toMatchObject({ allowed: false, remaining: 0 });
  expect(refused.nextMs).toBeGreaterThan(900_000);
  expect(refused.nextMs).toBeLessThanOrEqual(1_000_000);
  expect(refused.fullMs).toBeGreaterThan(2_900_000);
  // As if a thousand seconds had passed.
  const bare = bench.bare();
  await bare.set(bucketOf("ten_a"), Number(await bare.get(bucketOf("ten_a"))) - 1e9);
  expect(await limiter.take("ten_a", SLOW)).toMatchObject({ allowed: true, remaining: 0 });
  expect(await limiter.take("ten_a", SLOW)).toMatchObject({ allowed: false });
});

test("processes share a bucket, and fifty requests at once take exactly what is in it", async () => {
  const [one, other] = [await open(), await open()];
  const limit = { requestsPerSecond: 0.001, burst: 20 };
  const taken = await Promise.all(
    Array.from({ length: 50 }, (_, at) => (at % 2 === 0 ? one : other).take("ten_a", limit)),
  );
  expect(taken.filter(({ allowed }) => allowed)).toHaveLength(20);
});

test("a tenant with an empty bucket takes nothing from another", async () => {
  const limiter = await open();
  for (let at = 0; at < 4; at += 1) await limiter.take("ten_a", SLOW);
  expect(await limiter.take("ten_b", SLOW)).toMatchObject({ allowed: true, remaining: 2 });
});

test("a refused request writes nothing, and a full bucket is no key", async () => {
  const limiter = await open();
  const bare = bench.bare();
  await limiter.take("ten_a", { requestsPerSecond: 1_000_000, burst: 1 });
  for (let at = 0; at < 3; at += 1) await limiter.take("ten_b", SLOW);
  const before = await bare.get(bucketOf("ten_b"));
  expect(await limiter.take("ten_b", SLOW)).toMatchObject({ allowed: false });
  expect(await bare.get(bucketOf("ten_b"))).toBe(before);
  expect(await bare.pttl(bucketOf("ten_b"))).toBeGreaterThan(0);
  // It is full again after a microsecond, which Redis keeps as a millisecond.
  await until(async () => (await bare.exists(bucketOf("ten_a"))) === 0 || undefined);
});

test("a clock that was set back, or a limit that was lowered, leaves an empty bucket and no more", async () => {
  const limiter = await open();
  const bare = bench.bare();
  // What a Redis whose clock ran a hundred years ahead had left.
  await bare.set(bucketOf("ten_a"), String(Date.now() * 1_000 + 3_155_760_000 * 1e6));
  const refused = await limiter.take("ten_a", { requestsPerSecond: 2, burst: 4 });
  expect(refused).toMatchObject({ allowed: false, remaining: 0, nextMs: 500, fullMs: 2_000 });
  const { allowed } = await until(async () => {
    const taken = await limiter.take("ten_a", { requestsPerSecond: 1_000, burst: 4 });
    return taken.allowed ? taken : undefined;
  });
  expect(allowed).toBe(true);
});

test("a Redis that is down is told as such at once", async () => {
  const limiter = createRequestLimiter({ redis: "redis://127.0.0.1:1", settings: bench.settings });
  opened.push(limiter);
  await expect(limiter.take("ten_a", SLOW)).rejects.toMatchObject({ code: "queue_unavailable" });
});
