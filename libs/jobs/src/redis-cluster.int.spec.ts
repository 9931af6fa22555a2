import { afterAll, afterEach, beforeAll, expect, test } from "@jest/globals";
import { setImmediate } from "node:timers/promises";
import { startRedisCluster, type TestRedisCluster } from "../../../test/support/redis-cluster.js";
import { until } from "../../../test/support/until.js";
import { createRequestLimiter } from "./limits/request-limiter.js";
import { requeueActive } from "./requeue-active.js";
import { collect, openJobBench, request, untilState, type JobBench } from "./testing/job-bench.js";
import { createTokenMeter } from "./usage/token-meter.js";
import { createUsageReader } from "./usage/usage-reader.js";

let cluster: TestRedisCluster;
let bench: JobBench;
beforeAll(async () => {
  cluster = await startRedisCluster();
  bench = await openJobBench(cluster.address);
}, 60_000);
afterEach(() => bench.reset());
afterAll(async () => {
  await bench.close();
  await cluster.close();
});

const TENANTS = ["ten_a", "ten_b", "ten_c", "ten_d", "ten_e", "ten_f"];

test("jobs of many tenants, in slots of their own, are submitted, waited for and listed", async () => {
  await bench.workers({ query: async (payload) => payload, insert: async () => "stored" });
  const client = bench.client();
  const waits = TENANTS.flatMap((tenant) =>
    (["query", "insert"] as const).map((kind) => client.submitAndWait(request(kind, { tenant }, { tenant }), 10_000)),
  );
  for (const record of await Promise.all(waits)) expect(record).toMatchObject({ state: "completed", attempts: 1 });
  for (const tenant of TENANTS) expect(await client.list(tenant, { limit: 10 })).toHaveLength(2);
  const empty = { jobs: 0, oldestMs: 0 };
  expect(await client.backlog()).toEqual({ interactive: empty, batch: empty });
  expect(await client.counts()).toMatchObject({ insert: { waiting: 0, dead: 0 } });
});

test("inserts of a memory keep their order", async () => {
  const client = bench.client();
  const ids = [];
  for (let at = 0; at < 10; at += 1) ids.push((await client.submit(request("insert", { at }))).id);
  const order: unknown[] = [];
  await bench.workers({
    insert: async (payload) => {
      await setImmediate();
      order.push((payload as { at: number }).at);
    },
  });
  for (const id of ids) await untilState(client, id, "completed");
  expect(order).toEqual([...ids.keys()]);
});

test("one key makes one job; its events, its cancellation and its retries work as on one server", async () => {
  let runs = 0;
  await bench.workers({
    insert: async () => {
      runs += 1;
      if (runs === 1) throw new Error("once");
    },
  });
  const client = bench.client();
  const keyed = request("insert", {}, { idempotency: { key: "k", fingerprint: "f" } });
  const records = await Promise.all([1, 2, 3].map(() => client.submitAndWait(keyed, 10_000)));
  expect(new Set(records.map(({ id }) => id)).size).toBe(1);
  expect(records[0]).toMatchObject({ state: "completed", attempts: 2 });
  const events = await collect(client.events("ten_a", records[0]!.id, { signal: new AbortController().signal }));
  expect(events.at(-1)?.record.state).toBe("completed");
  const waiting = await client.submit(request("maintain", { task: "retext" }));
  expect(await client.cancel("ten_a", waiting.id)).toMatchObject({ state: "cancelled" });
});

test("requests and usage of tenants are counted in slots of their own", async () => {
  const options = { redis: cluster.address, settings: bench.settings };
  const limiter = createRequestLimiter(options);
  const meter = createTokenMeter(options);
  const usage = createUsageReader(options);
  try {
    await bench.workers({
      insert: async (_payload, { stored }) => {
        stored({ nodes: 1, bytes: 10 });
      },
    });
    const client = bench.client();
    for (const tenant of TENANTS) {
      const limit = { requestsPerSecond: 0.001, burst: 2 };
      // The first call may come before the connection.
      const taken = await until(() => limiter.take(tenant, limit).catch(() => undefined));
      expect(taken).toMatchObject({ allowed: true, remaining: 1 });
      meter.spent(tenant, 3);
      await client.submitAndWait(request("insert", {}, { tenant }), 10_000);
    }
    const today = Math.floor(Date.now() / 86_400_000);
    for (const tenant of TENANTS) {
      await until(async () => {
        // A test at midnight has used some of it yesterday.
        const days = await usage.days(tenant, [today - 1, today, today + 1]);
        const sum = (name: "nodes" | "bytes" | "modelTokens"): number => days.reduce((all, day) => all + day[name], 0);
        return sum("nodes") === 1 && sum("bytes") === 10 && sum("modelTokens") === 3 ? true : undefined;
      });
    }
  } finally {
    await Promise.all([limiter.close(), meter.close()]);
    usage.close();
  }
});

test("what a dead worker had goes back to its queue", async () => {
  expect(await requeueActive(cluster.address, { settings: bench.settings })).toBe(0);
});
