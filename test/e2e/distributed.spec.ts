/** The distributed profile as it is deployed: API, workers by role and a score worker as its own process, over real servers. */
import { afterAll, beforeAll, describe, expect, jest, test } from "@jest/globals";
import { QdrantClient } from "@qdrant/js-client-rest";
import { Redis } from "ioredis";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import neo4j from "neo4j-driver";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseConfig, type Config } from "#core";
import { openApi } from "../../apps/api/src/open-api.js";
import { startWorker, type RunningWorker } from "../../apps/worker/src/start-worker.js";
import { ApiClient } from "../support/api-client.js";
import { startNeo4j, type TestNeo4j } from "../support/neo4j.js";
import { startQdrant, type TestQdrant } from "../support/qdrant.js";
import { startRedis, type TestRedis } from "../support/redis.js";
import { tracesInRedis } from "../support/traces.js";
import { until } from "../support/until.js";
import { setUp, startWorkerProcess, type WorkerProcess } from "../support/worker.js";

jest.setTimeout(300_000);
const PATIENCE_MS = 120_000;
/** How long deleted memories are remembered here, so that one sees them being forgotten. */
const TOMBSTONE_MS = 1_000;

const graph = await startNeo4j();
const points = await startQdrant();
const missing = "skipped" in graph || "skipped" in points;

(missing ? describe.skip : describe)("API and workers over Neo4j, Qdrant and Redis", () => {
  const { uri } = graph as TestNeo4j;
  const { url } = points as TestQdrant;
  let folder = "";
  let redis: TestRedis;
  let api: Awaited<ReturnType<typeof openApi>>;
  let client: ApiClient;
  let scorer: WorkerProcess;
  const workers: RunningWorker[] = [];

  beforeAll(async () => {
    await setUp({});
    folder = await mkdtemp(join(tmpdir(), "espalier-distributed-"));
    redis = await startRedis();
    const environment = { NEO4J_URI: uri, QDRANT_URL: url, REDIS_URL: `unix://${redis.address}`, LOG_LEVEL: "error" };
    const config = parseConfig({ ...environment, ESPALIER_PORT: "0", ESPALIER_DATA: folder });
    api = await openApi(config as Config & { readonly redisUrl: string });
    const { created } = await api.firstKey();
    client = new ApiClient(api.url, created ?? "");
    for (const role of ["query", "insert", "maintain"] as const) {
      workers.push(await startWorker(config, { roles: [role], loopTimes: { tombstoneMs: TOMBSTONE_MS } }));
    }
    scorer = await startWorkerProcess({ redis: redis.address, dataFolder: folder, roles: "score", environment });
  });
  afterAll(async () => {
    await scorer.kill();
    await Promise.all(workers.map((worker) => worker.close()));
    await api.close();
    await redis.close();
    await (graph as TestNeo4j).close();
    await (points as TestQdrant).close();
    await rm(folder, { recursive: true, force: true });
  });

  const job = async (id: string): Promise<{ readonly state: string }> =>
    (await client.call("GET", `/v1/jobs/${id}`)).body;
  const drift = async () =>
    (await client.call("GET", "/v1/admin/drift")).body as unknown as { readonly points: number };

  const turns = async (memory: string): Promise<number> =>
    ((await client.query(memory, { query: "//Turn" })).body["rows"] as readonly unknown[]).length;

  async function insertTrip(memory: string): Promise<number> {
    const tree = JSON.parse(await readFile("examples/acl-trip.json", "utf8")) as object;
    const answer = await client.insert(memory, tree);
    expect({ status: answer.status, text: answer.text }).toMatchObject({ status: 200 });
    return (answer.body as unknown as { readonly result: { readonly inserted: number } }).result.inserted;
  }

  /** String attributes of a memory, each a field of its own. */
  async function attributesOf(memory: string): Promise<number> {
    const { body } = await client.call("GET", `/v1/memories/${memory}/schema`);
    const { types } = body as unknown as {
      readonly types: readonly { readonly attributes: readonly { readonly kinds: { readonly string?: number } }[] }[];
    };
    return types.flatMap(({ attributes }) => attributes).reduce((sum, { kinds }) => sum + (kinds.string ?? 0), 0);
  }

  test("an insert is complete when its nodes are stored and searchable, and a query finds them", async () => {
    const memory = await client.memory();
    expect(await insertTrip(memory)).toBe(63);
    const found = await client.query(memory, { query: '//POI[node~="poster"]', topK: 3, trace: true });
    expect(found.status).toBe(200);
    expect(found.body["rows"]).toHaveLength(3);
    const days = await client.query(memory, { query: '//Day[avg(/POI[node~="conference"])]', scorer: "similarity" });
    expect(days.body["rows"]).not.toHaveLength(0);
  });

  test("explain tells from how many candidates on a search may be approximate", async () => {
    const body = { query: '//Day[node~="x"]', topK: 3, scorer: "similarity" };
    const { body: explained } = await client.call("POST", "/v1/query/explain", { body });
    expect(explained["text"]).toEqual(expect.stringContaining("approximate only from 20000 candidates on"));
  });

  test("no score worker holds an insert up for its readers: queries compute what is missing, and it completes later", async () => {
    await scorer.kill();
    const memory = await client.memory({ structure: "conversation" });
    const messages = ["I adopted a cat", "We sailed to Malta", "The oven is broken"].map((text) => ({
      speaker: "Ann",
      text,
    }));
    const answer = await client.call("POST", `/v1/memories/${memory}/insert`, {
      body: { conversation: "c", messages },
    });
    await until(async () => (await turns(memory)) === 3 || undefined, PATIENCE_MS);
    expect((await job(answer.body.id)).state).toBe("active");
    const found = await client.query(memory, { query: '//Turn[node~="pets"]', scorer: "similarity", topK: 1 });
    expect((found.body["rows"] as readonly { readonly attributes: { text: string } }[])[0]?.attributes.text).toBe(
      "I adopted a cat",
    );
    scorer = await startWorkerProcess({
      ...{ redis: redis.address, dataFolder: folder, roles: "score" },
      environment: { NEO4J_URI: uri, QDRANT_URL: url },
    });
    await until(async () => (await job(answer.body.id)).state === "completed" || undefined, PATIENCE_MS);
  });

  test("points that are lost or foreign are counted as drift, and repaired by the operator's wish", async () => {
    const memory = await client.memory();
    await insertTrip(memory);
    const qdrant = new QdrantClient({ url, checkCompatibility: false });
    const { collections } = await qdrant.getCollections();
    const ofMemory = { must: [{ key: "memory", match: { value: memory } }] };
    const name = collections[0]!.name;
    // The attributes of an artifact are embedded after its nodes.
    const expected = 63 + (await attributesOf(memory));
    await until(
      async () => (await qdrant.count(name, { filter: ofMemory })).count === expected || undefined,
      PATIENCE_MS,
    );
    const whole = (await qdrant.count(name, { filter: ofMemory })).count;
    const { points: some } = await qdrant.scroll(name, {
      filter: ofMemory,
      limit: 10,
      with_payload: true,
      with_vector: true,
    });
    await qdrant.delete(name, { wait: true, points: some.slice(0, 5).map(({ id }) => id) });
    const [foreign] = some.slice(5);
    await qdrant.upsert(name, {
      wait: true,
      points: [
        {
          id: "00000000-0000-4000-8000-000000000001",
          vector: foreign?.vector as Record<string, number[]>,
          payload: { ...foreign?.payload, node: "nod_foreign" },
        },
      ],
    });
    const { body } = await client.call("POST", "/v1/admin/drift/repair");
    expect(body).toBeDefined();
    await until(async () => (await qdrant.count(name, { filter: ofMemory })).count === whole || undefined, PATIENCE_MS);
    const left = await qdrant.scroll(name, { filter: ofMemory, limit: 1_000, with_payload: true });
    expect(left.points.some(({ payload }) => payload?.["node"] === "nod_foreign")).toBe(false);
    await client.call("POST", "/v1/admin/drift/repair");
    await until(async () => (await drift()).points === 0 || undefined, PATIENCE_MS);
  });

  test("deleting a tenant leaves nothing of it in any store", async () => {
    const { id } = (await client.call("POST", "/v1/admin/tenants", { body: { name: "gone" } })).body;
    const body = { scopes: ["read", "write"], tenant: id };
    const { key } = (await client.call("POST", "/v1/admin/keys", { body })).body;
    const own = new ApiClient(api.url, key);
    const memory = await own.memory();
    const children = ["roots", "branches"].map((text) => ({ type: "Day", attributes: { text } }));
    const inserted = await own.insert(memory, { tree: { type: "Trip", children } });
    expect(inserted.body.state).toBe("completed");
    expect((await own.query(memory, { query: '//Day[node~="trees"]' })).status).toBe(200);
    const driver = neo4j.driver(uri);
    const nodes = async (): Promise<readonly string[]> => {
      const { records } = await driver.executeQuery(
        "MATCH (n) WHERE any(name IN keys(n) WHERE toStringOrNull(n[name]) CONTAINS $id) RETURN labels(n)[0] AS label",
        { id },
      );
      return records.map((record) => String(record.get("label")));
    };
    const qdrant = new QdrantClient({ url, checkCompatibility: false });
    const filter = { must: [{ key: "tenant", match: { value: id } }] };
    const vectors = async (): Promise<number> => {
      let sum = 0;
      for (const { name } of (await qdrant.getCollections()).collections)
        sum += (await qdrant.count(name, { filter })).count;
      return sum;
    };
    expect((await nodes()).length).toBeGreaterThan(3);
    expect(await vectors()).toBeGreaterThan(0);
    const deleted = await client.call("DELETE", `/v1/admin/tenants/${id}`);
    expect([deleted.status, deleted.body.state]).toEqual([200, "deleted"]);
    expect(deleted.body["deleted"]).toMatchObject({ memories: 1, nodes: 3, keys: 1 });
    expect(await vectors()).toBe(0);
    // The memory's name stays until nobody can be left who writes for it; the next test waits for that.
    expect((await nodes()).filter((label) => label !== "Tombstone")).toEqual([]);
    await driver.close();
    const bare = new Redis({ path: redis.address });
    expect(await tracesInRedis(bare, id)).toEqual([]);
    bare.disconnect();
    expect((await own.call("GET", "/v1/memories")).status).toBe(401);
  });

  test("deleting memories leaves nothing of them in any store", async () => {
    const { items } = (await client.call("GET", "/v1/memories?limit=100")).body as unknown as {
      items: { id: string }[];
    };
    expect(items.length).toBeGreaterThan(0);
    for (const { id } of items) {
      const answer = await client.call("DELETE", `/v1/memories/${id}`);
      expect(answer.status).toBe(200);
      expect(answer.body).toMatchObject({ deleted: { nodes: expect.any(Number), vectors: expect.any(Number) } });
    }
    const driver = neo4j.driver(uri);
    const left = async (): Promise<readonly unknown[]> => {
      const { records } = await driver.executeQuery(
        "MATCH (n) WHERE NOT n:Migration AND NOT n:TenantLock AND NOT n:ApiKey AND NOT n:Tenant RETURN labels(n)[0] AS label, count(*) AS rows",
      );
      return records.map((record) => record.toObject());
    };
    // Their names stay until nobody can be left who writes for them.
    expect((await left()).filter((row) => (row as { readonly label: string }).label !== "Tombstone")).toEqual([]);
    await until(async () => (await left()).length === 0 || undefined, PATIENCE_MS);
    await driver.close();
    const qdrant = new QdrantClient({ url, checkCompatibility: false });
    for (const { name } of (await qdrant.getCollections()).collections)
      expect((await qdrant.count(name)).count).toBe(0);
    const bare = new Redis({ path: redis.address });
    const keys = await bare.keys("*");
    for (const { id } of items) expect(keys.filter((key) => key.includes(id))).toEqual([]);
    bare.disconnect();
  });
});
