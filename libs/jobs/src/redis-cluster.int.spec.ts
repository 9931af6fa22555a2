import { afterAll, afterEach, beforeAll, expect, test } from "@jest/globals";
import { Cluster } from "ioredis";
import { setImmediate } from "node:timers/promises";
import { systemClock } from "#core";
import { startRedisCluster, type TestRedisCluster } from "../../../test/support/redis-cluster.js";
import { until } from "../../../test/support/until.js";
import { createRequestLimiter } from "./limits/request-limiter.js";
import { connectRedis } from "./redis.js";
import { requeueActive } from "./requeue-active.js";
import { createRequestLedger } from "./requests/request-ledger.js";
import { createTenantEraser } from "./tenants/erase-tenant.js";
import { createTenantJobs } from "./tenants/tenant-jobs.js";
import { collect, openJobBench, request, untilState, type JobBench } from "./testing/job-bench.js";
import { createTokenMeter } from "./usage/token-meter.js";
import { createUsageReader } from "./usage/usage-reader.js";
import { createDeliveries } from "./webhooks/deliveries.js";
import { createSecretBox } from "./webhooks/secret-box.js";
import { END_STATES, type Attempt, type Delivery } from "./webhooks/types.js";
import { createWebhooks, type Webhooks } from "./webhooks/webhooks.js";

let cluster: TestRedisCluster;
let bench: JobBench;
/** Looks at the nodes, past everything of ours. */
let bare: Cluster;
const closing: (() => unknown)[] = [];
beforeAll(async () => {
  cluster = await startRedisCluster();
  bench = await openJobBench(cluster.address);
  bare = connectRedis(cluster.address, "worker") as unknown as Cluster;
}, 60_000);
afterEach(async () => {
  await Promise.all(closing.splice(0).map((close) => close()));
  await bench.reset();
});
afterAll(async () => {
  bare.disconnect();
  await bench.close();
  await cluster.close();
});

/** Keys that fit a pattern, on whichever node they lie. */
async function keysLike(pattern: string): Promise<readonly string[]> {
  await bare.ping();
  return (await Promise.all(bare.nodes("master").map((node) => node.keys(pattern)))).flat();
}

/** Every key of all nodes whose name or contents name a tenant. */
async function traces(tenant: string): Promise<readonly string[]> {
  const found: string[] = [];
  for (const key of await keysLike("*")) {
    const read: Record<string, () => Promise<unknown>> = {
      string: () => bare.get(key),
      hash: () => bare.hgetall(key),
      list: () => bare.lrange(key, 0, -1),
      set: () => bare.smembers(key),
      zset: () => bare.zrange(key, "0", "-1"),
      stream: () => bare.xrange(key, "-", "+"),
    };
    if (`${key} ${JSON.stringify(await read[await bare.type(key)]?.())}`.includes(tenant)) found.push(key);
  }
  return found;
}

const webhookSettings = () => ({ ...bench.settings, webhooks: { ...bench.settings.webhooks, auditMs: 100 } });

/** The webhooks, each tenant with one that hears of everything. */
async function listening(tenants: readonly string[]): Promise<Webhooks> {
  const shared = { redis: cluster.address, clock: systemClock, settings: webhookSettings() };
  const webhooks = createWebhooks({ ...shared, box: createSecretBox() });
  closing.push(() => webhooks.close());
  const wish = { url: "https://example.com", events: END_STATES, kinds: ["query", "insert"] } as const;
  // The first call may come before the connection.
  for (const tenant of tenants) await until(() => webhooks.create(tenant, "whk_1", wish).catch(() => undefined));
  return webhooks;
}

/** A worker that delivers, and what it sends. */
async function deliver(): Promise<readonly Attempt[]> {
  const sent: Attempt[] = [];
  const deliveries = createDeliveries({
    ...{ redis: cluster.address, clock: systemClock, settings: webhookSettings() },
    send: async (attempt) => {
      sent.push(attempt);
      return { status: 200 };
    },
  });
  closing.push(() => deliveries.close());
  await bench.workers({
    deliver: async (_payload, { id, tenant, signal }) => deliveries.deliver({ tenant, webhook: id }, signal),
  });
  return sent;
}

const delivered = (webhooks: Webhooks, tenant: string): Promise<Delivery> =>
  until(async () => (await webhooks.deliveries(tenant, "whk_1", { state: "delivered", limit: 1 }))[0]);

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

test("webhooks of tenants in slots of their own hear of ends, keep their log, and are sent again", async () => {
  const webhooks = await listening(TENANTS);
  const sent = await deliver();
  await bench.workers({ query: async () => "answer" });
  const client = bench.client();
  for (const tenant of TENANTS) await client.submitAndWait(request("query", {}, { tenant }), 10_000);
  for (const tenant of TENANTS) expect(await delivered(webhooks, tenant)).toMatchObject({ attempts: 1, status: 200 });
  expect(sent).toHaveLength(TENANTS.length);
  const { id } = await delivered(webhooks, "ten_a");
  expect(await webhooks.redeliver("ten_a", "whk_1", id)).toMatchObject({ id, state: "pending" });
  await until(() => sent.length > TENANTS.length);
  expect(await delivered(webhooks, "ten_a")).toMatchObject({ id });
  await webhooks.remove("ten_a", "whk_1");
  expect(await keysLike(`${bench.settings.prefix}:{ten_a}:webhooks*`)).toEqual([]);
});

test("an audit finds what webhooks have to send when nobody was told of it", async () => {
  const webhooks = await listening(TENANTS);
  const client = bench.client();
  for (const tenant of TENANTS) {
    const { id } = await client.submit(request("query", {}, { tenant }));
    await client.cancel(tenant, id);
  }
  const { prefix } = bench.settings;
  const told = async () => [
    ...(await keysLike(`{${prefix}-webhooks}:times`)),
    ...(await keysLike(`{${prefix}-deliver}:*`)),
  ];
  await until(async () => (await webhooks.overdueMs()) > 0);
  for (const key of await told()) await bare.del(key);
  expect(await webhooks.overdueMs()).toBe(0);
  await deliver();
  for (const tenant of TENANTS) expect(await delivered(webhooks, tenant)).toMatchObject({ event: "cancelled" });
});

test("a tenant goes from every node, and others keep theirs", async () => {
  // Of no other test, so that every key of theirs is a trace.
  const tenants = ["ten_u", "ten_v", "ten_w", "ten_x", "ten_y", "ten_z"];
  const options = { redis: cluster.address, settings: bench.settings };
  const webhooks = await listening(tenants);
  const [ledger, limiter, weights] = [
    createRequestLedger(options),
    createRequestLimiter(options),
    createTenantJobs(options),
  ];
  const client = bench.client();
  const eraser = createTenantEraser({ ...options, jobs: client });
  closing.push(...[ledger, limiter, weights, eraser].map((opened) => () => opened.close()));
  await bench.workers({ query: async () => "answer" });
  for (const tenant of tenants) {
    await client.submitAndWait(request("query", {}, { tenant }), 10_000);
    await client.submit(request("insert", {}, { tenant, idempotency: { key: "k", fingerprint: "f" } }));
    const keyed = { tenant, key: "a request", fingerprint: "f" };
    expect(await until(() => ledger.begin(keyed, "one").catch(() => undefined))).toEqual({
      turn: "run",
      effect: "one",
    });
    await ledger.end(keyed, "one", "answer");
    expect(await ledger.begin(keyed, "two")).toEqual({ turn: "done", answer: "answer" });
    await until(() => limiter.take(tenant, { requestsPerSecond: 0.001, burst: 2 }).catch(() => undefined));
    await until(() =>
      weights.setWeight(tenant, 3).then(
        () => true,
        () => undefined,
      ),
    );
  }
  for (const tenant of tenants.slice(0, 3)) {
    const jobs = await until(() => eraser.cancelJobs(tenant, 10_000).catch(() => undefined));
    expect(jobs).toEqual({ cancelled: 1, running: 0 });
    expect(await eraser.removeKeys(tenant)).toBeGreaterThan(0);
    expect(await traces(tenant)).toEqual([]);
    expect(await eraser.removeKeys(tenant)).toBe(0);
  }
  for (const tenant of tenants.slice(3)) {
    expect(await client.list(tenant, { limit: 10 })).toHaveLength(2);
    expect(await webhooks.list(tenant)).toHaveLength(1);
    expect(await ledger.begin({ tenant, key: "a request", fingerprint: "f" }, "two")).toMatchObject({ turn: "done" });
  }
});

test("what a dead worker had goes back to its queue", async () => {
  expect(await requeueActive(cluster.address, { settings: bench.settings })).toBe(0);
});
