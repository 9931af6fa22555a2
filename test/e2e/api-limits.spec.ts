import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { Redis } from "ioredis";
import { randomId, type MemoryScope } from "#core";
import { openApiBench, type ApiBench } from "../support/api-bench.js";
import type { Answer, ApiClient } from "../support/api-client.js";
import { until } from "../support/until.js";

let bench: ApiBench;
beforeAll(async () => {
  bench = await openApiBench({
    handlers: { insert: async () => ({ revision: 1, inserted: 1, roots: [] }) },
    environment: { ESPALIER_TENANT_REQUESTS_PER_SECOND: "unlimited" },
  });
});
afterAll(() => bench.close());

let tenants = 0;
/** A tenant with limits, and a key of it. */
async function limited(
  limits: Readonly<Record<string, number>>,
): Promise<{ readonly tenant: string; readonly key: string }> {
  tenants += 1;
  const tenant = `ten_limited${tenants}`;
  await bench.stores.tenants.create({ id: tenant, name: "limited", createdAt: Date.now(), weight: 1, limits });
  return { tenant, key: await bench.key({ tenant }) };
}

/** Stores a node, as a worker would. */
async function fill(scope: MemoryScope): Promise<void> {
  const state = {
    type: "Day",
    parentId: null,
    pathKey: "a0",
    depth: 1,
    attributes: {},
    metadata: {},
    text: "",
    tokens: 0,
  };
  await bench.stores.tree.commit(scope, {
    ...{
      baseRevision: 0,
      inbox: { job: randomId("job"), step: "insert" },
      message: "",
      author: "test",
      time: Date.now(),
    },
    ...{ states: [{ ...state, id: randomId("nod") }], ends: [], vectors: [], terms: [], result: null },
  });
}

async function blobsOf(tenant: string): Promise<number> {
  const database = new DatabaseSync(join(bench.folder, "espalier.db"), { readOnly: true });
  try {
    const row = database.prepare("SELECT count(*) AS blobs FROM blobs WHERE tenant = ?").get(tenant);
    return Number(row?.["blobs"]);
  } finally {
    database.close();
  }
}

/** One request a thousand seconds: no test is so slow that one comes back. */
const SLOW = 0.001;

const list = (client: ApiClient, key: string): Promise<Answer> => client.call("GET", "/v1/memories", { key });

test("requests over a tenant's rate are refused with what is left and when to come back", async () => {
  const { key } = await limited({ requestsPerSecond: SLOW, burst: 2 });
  const first = await list(bench.client, key);
  expect([first.status, first.headers.get("ratelimit-policy")]).toEqual([200, '"requests";q=2;w=2000']);
  expect(first.headers.get("ratelimit")).toMatch(/^"requests";r=1;t=(1000|999)$/);
  await list(bench.client, key);
  const refused = await list(bench.client, key);
  expect(refused.status).toBe(429);
  expect(refused.body).toMatchObject({ code: "rate_limited", limit: "requestsPerSecond", value: SLOW, burst: 2 });
  expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(900);
  expect(refused.headers.get("ratelimit")).toMatch(/^"requests";r=0;/);
});

test("API processes share a tenant's requests, and another tenant's are untouched", async () => {
  const { key } = await limited({ requestsPerSecond: SLOW, burst: 10 });
  const other = await limited({ requestsPerSecond: SLOW, burst: 10 });
  const replica = await bench.replica();
  const clients = [bench.client, replica];
  const answers = await Promise.all(Array.from({ length: 24 }, (_, at) => list(clients[at % 2] ?? replica, key)));
  expect(answers.map(({ status }) => status).toSorted()).toEqual([...Array(10).fill(200), ...Array(14).fill(429)]);
  expect((await list(replica, other.key)).headers.get("ratelimit")).toMatch(/^"requests";r=9;/);
});

test("health, metrics and who runs the deployment are not limited; a limit that is raised holds a moment later", async () => {
  const { tenant, key } = await limited({ requestsPerSecond: SLOW, burst: 1 });
  await list(bench.client, key);
  expect((await list(bench.client, key)).status).toBe(429);
  for (const path of ["/health/live", "/metrics"]) {
    expect((await bench.client.call("GET", path, { key })).status).toBe(200);
  }
  expect((await bench.client.call("GET", "/metrics")).text).toMatch(
    /espalier_limit_refusals_total\{limit="requestsPerSecond",process="api"\} \d+/,
  );
  await bench.stores.tenants.patch(tenant, { limits: { requestsPerSecond: 1_000, burst: 1_000 } });
  await until(async () => ((await list(bench.client, key)).status === 200 ? true : undefined));
});

test("a tenant that has too much waiting is told which limit, and leaves nothing; another tenant's job goes on", async () => {
  const { tenant, key } = await limited({ queuedJobs: 0 });
  const memory = await bench.client.memory({}, key);
  const redis = new Redis({ path: bench.redis.address });
  try {
    const before = (await redis.keys(`*${tenant}*`)).toSorted();
    const headers = { "idempotency-key": "full" };
    const refused = await bench.client.insert(memory, { tree: { type: "Day" } }, { key, headers });
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "2"]);
    expect(refused.body).toMatchObject({ code: "queue_full", limit: "queuedJobs", value: 0, current: 0 });
    expect((await redis.keys(`*${tenant}*`)).toSorted()).toEqual(before);
    const other = await limited({});
    const free = await bench.client.memory({}, other.key);
    expect((await bench.client.insert(free, { tree: { type: "Day" } }, { key: other.key })).status).toBe(200);
  } finally {
    redis.disconnect();
  }
});

test("a tenant that stores as much as it may is told at once; what it was given before is still its, and a deletion makes room", async () => {
  const { tenant, key } = await limited({ nodes: 1, bytes: 1_000_000 });
  const [memory, other] = [await bench.client.memory({}, key), await bench.client.memory({}, key)];
  const keyed = (name: string) => ({ key, headers: { "idempotency-key": name } });
  const first = await bench.client.insert(memory, { tree: { type: "Day" } }, keyed("first"));
  expect(first.status).toBe(200);
  await fill({ tenant, memory });
  const redis = new Redis({ path: bench.redis.address });
  try {
    const before = (await redis.keys(`*${tenant}*`)).toSorted();
    const large = { tree: { type: "Day", attributes: { text: "x".repeat(60_000) } } };
    for (const call of [{ key }, keyed("second")]) {
      const refused = await bench.client.insert(other, large, call);
      expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "60"]);
      expect(refused.body).toMatchObject({ code: "quota_exceeded", limit: "nodes", value: 1, current: 1 });
    }
    expect((await redis.keys(`*${tenant}*`)).toSorted()).toEqual(before);
    expect(await blobsOf(tenant)).toBe(0);
    expect((await bench.client.insert(memory, { tree: { type: "Day" } }, keyed("first"))).text).toBe(first.text);
    await bench.client.call("DELETE", `/v1/memories/${memory}`, { key });
    expect((await bench.client.insert(other, large, keyed("second"))).status).toBe(200);
  } finally {
    redis.disconnect();
  }
});

test("a tenant with as many memories as it may have makes another when one is gone", async () => {
  const { tenant, key } = await limited({ memories: 2 });
  const create = (headers: Readonly<Record<string, string>> = {}) =>
    bench.client.call("POST", "/v1/memories", { key, headers, body: { name: "one more" } });
  const [first] = [(await create()).body.id, await create()];
  const redis = new Redis({ path: bench.redis.address });
  const entries = () => redis.keys(`*${tenant}*idempotency:*`);
  for (const headers of [{}, { "idempotency-key": "third" }]) {
    const refused = await create(headers);
    await until(async () => ((await entries()).length === 0 ? true : undefined));
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "60"]);
    expect(refused.body).toMatchObject({ code: "quota_exceeded", limit: "memories", value: 2, current: 2 });
  }
  await bench.client.call("DELETE", `/v1/memories/${first}`, { key });
  const made = await create({ "idempotency-key": "third" });
  expect(made.status).toBe(201);
  expect(await entries()).toHaveLength(1);
  redis.disconnect();
  // The repeat of one that was made is no further one.
  expect((await create({ "idempotency-key": "third" })).text).toBe(made.text);
});

test("a tenant with as many keys as it may have gets another when one has ended, and can always replace one", async () => {
  const { tenant } = await limited({ keys: 3 });
  const key = await bench.key({ tenant, scopes: ["admin"] });
  const path = "/v1/admin/keys";
  const create = (body: object = {}) => bench.client.call("POST", path, { key, body: { scopes: ["admin"], ...body } });
  const third = await create();
  const refused = await create();
  expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "60"]);
  expect(refused.body).toMatchObject({ code: "quota_exceeded", limit: "keys", value: 3, current: 3 });
  const rotate = (overlapSeconds: number) =>
    bench.client.call("POST", `${path}/${third.body.id}/rotate`, { key, body: { overlapSeconds } });
  expect((await rotate(60)).body).toMatchObject({ code: "quota_exceeded", limit: "keys" });
  const rotated = await rotate(0);
  expect(rotated.status).toBe(201);
  expect((await rotate(0)).body).toMatchObject({ code: "quota_exceeded", limit: "keys" });
  expect((await create()).status).toBe(429);
  expect((await bench.client.call("DELETE", `${path}/${rotated.body.id}`, { key })).status).toBe(200);
  expect((await create()).status).toBe(201);
});

test("a tenant that has as many idempotency keys as it may writes on without one, and what it did is told again", async () => {
  const { key } = await limited({ idempotencyKeys: 1, memories: 3 });
  const create = (headers: Readonly<Record<string, string>> = {}) =>
    bench.client.call("POST", "/v1/memories", { key, headers, body: { name: "m" } });
  const first = await create({ "idempotency-key": "first" });
  expect(first.status).toBe(201);
  const refused = await create({ "idempotency-key": "second" });
  expect(refused.status).toBe(429);
  expect(refused.body).toMatchObject({
    code: "too_many_idempotency_keys",
    limit: "idempotencyKeys",
    value: 1,
    current: 1,
  });
  expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(80_000);
  expect((await create({ "idempotency-key": "first" })).text).toBe(first.text);
  // An insert is a job: its key is one of them too.
  const insert = { key, body: { tree: { type: "Day" } }, headers: { "idempotency-key": "insert" } };
  const path = `/v1/memories/${first.body.id}/insert`;
  expect((await bench.client.call("POST", path, insert)).body).toMatchObject({ code: "too_many_idempotency_keys" });
  expect((await bench.client.call("GET", "/v1/jobs", { key })).body).toMatchObject({ items: [] });
  expect((await create()).status).toBe(201);
});

test("a refused request leaves nothing behind", async () => {
  const { tenant, key } = await limited({ requestsPerSecond: SLOW, burst: 1 });
  const memory = await bench.client.memory({}, key);
  const redis = new Redis({ path: bench.redis.address });
  try {
    const keys = async (): Promise<readonly string[]> => (await redis.keys(`*${tenant}*`)).toSorted();
    const before = await keys();
    const refused = await bench.client.call("POST", `/v1/memories/${memory}/insert`, {
      ...{ key, body: { tree: { type: "Day" } }, headers: { "idempotency-key": "again" } },
    });
    expect(refused.body.code).toBe("rate_limited");
    expect(await keys()).toEqual(before);
    await bench.stores.tenants.patch(tenant, { limits: { requestsPerSecond: 1_000, burst: 1_000 } });
    const insert = { key, headers: { "idempotency-key": "again" } };
    await until(async () => {
      const { status } = await bench.client.insert(memory, { tree: { type: "Day" } }, insert);
      return status === 200 ? true : undefined;
    });
  } finally {
    redis.disconnect();
  }
});
