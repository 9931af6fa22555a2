import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import { QdrantClient } from "@qdrant/js-client-rest";
import { type FaultOf, type FaultyProxy, startFaultyProxy } from "../../../../test/support/faulty-proxy.js";
import { startQdrant, type TestQdrant } from "../../../../test/support/qdrant.js";
import type { NodeFilter } from "#core";
import { codeOf, embedding, grow, MODEL, SCOPE, state, unit } from "../contract/fixtures.js";
import { Collections } from "./collections.js";
import { QdrantConnection } from "./connection.js";
import { type QdrantOverInMemory, qdrantOverInMemory } from "./testing/qdrant-over-in-memory.js";

const EVERYTHING: NodeFilter = { scope: { kind: "descendants", of: [""] } };
const READ = { revision: 1, model: MODEL, field: "" };
const KEY = "a key of the test";
const BEST = { limit: 10, exact: true };
const NO_FAULT: FaultOf = () => undefined;
/** What changes points or collections. */
const WRITES = /\/points(\?|$)|\/points\/(payload|delete)|\/index/;
const POINT = { id: "nod_a1", born: 1, field: "", model: MODEL, embedding: embedding(0, 1) };

// A front of its own, also where there is a real Qdrant: it is killed, frozen and locked.
const started = await startQdrant({ apiKey: KEY });
if ("skipped" in started)
  describe.skip("Qdrant in trouble", () => {
    inTrouble(undefined as never);
  });
else
  describe("Qdrant in trouble", () => {
    inTrouble(started);
  });

function inTrouble(server: TestQdrant): void {
  const opened: QdrantOverInMemory[] = [];
  let proxy: FaultyProxy;
  beforeAll(async () => {
    proxy = await startFaultyProxy(server.url);
  });
  afterEach(async () => {
    proxy.meet(NO_FAULT);
    for (const stores of opened.splice(0)) await stores.close();
  });
  afterAll(async () => {
    await proxy.close();
    await server.close();
  });

  const open = (settings: Partial<QdrantOverInMemory["settings"]> = {}): QdrantOverInMemory => {
    const stores = qdrantOverInMemory({ url: server.url, apiKey: KEY, ...settings });
    opened.push(stores);
    return stores;
  };
  const grown = async (stores: QdrantOverInMemory): Promise<QdrantOverInMemory> => {
    const vectors = [{ id: "nod_a0", field: "", model: MODEL, embedding: embedding(1, 0) }];
    await grow(stores, [state("a0", "A"), state("a1", "A")], { vectors });
    return stores;
  };
  const found = async ({ vectors }: QdrantOverInMemory): Promise<readonly string[]> => {
    const { rows } = await vectors.topK(SCOPE, READ, unit(1, 1), EVERYTHING, BEST);
    return rows.map(({ key }) => key.pathKey);
  };

  test("a wrong key, a wrong address and a closed store are store_unavailable, and say what to check", async () => {
    await open().ping();
    await expect(open({ apiKey: "wrong" }).ping()).rejects.toMatchObject({
      code: "store_unavailable",
      message: expect.stringContaining("QDRANT_API_KEY"),
    });
    await expect(open({ url: "http://127.0.0.1:9" }).ping()).rejects.toMatchObject({
      code: "store_unavailable",
      message: expect.stringContaining("QDRANT_URL"),
    });
    const closed = open();
    await closed.close();
    expect(await codeOf(closed.ping())).toBe("store_unavailable");
  });

  test("a server that does not answer is given up after the time-out, and what came to nothing is still pending", async () => {
    const stores = await grown(open({ callTimeoutMs: 300 }));
    server.freeze();
    const begun = Date.now();
    try {
      await expect(found(stores)).rejects.toMatchObject({ message: expect.stringContaining("within 300 ms") });
      expect(await codeOf(stores.vectors.upsert(SCOPE, [POINT]))).toBe("store_unavailable");
    } finally {
      server.thaw();
    }
    expect(Date.now() - begun).toBeLessThan(3_000);
    expect(await stores.vectors.missing(SCOPE, READ, { filter: EVERYTHING }, 10)).toHaveLength(1);
    await stores.vectors.upsert(SCOPE, [POINT]);
    expect(await found(stores)).toEqual(["a0", "a1"]);
  });

  test("a server that is restarted in the middle of a query and of an insert is waited for", async () => {
    const stores = await grown(open());
    await server.kill();
    const searching = found(stores);
    const storing = stores.vectors.upsert(SCOPE, [POINT]);
    await server.start();
    await storing;
    expect((await searching)[0]).toBe("a0");
    expect(await found(stores)).toEqual(["a0", "a1"]);
  });

  test.each([
    ["read-only", 403, "Global manage access is required", /a read-only key is not enough/],
    ["in strict mode", 403, "Write operations are not allowed in strict mode", /may not do this/],
    [
      "full",
      500,
      "Service internal error: No space left on device: WAL buffer size exceeds available disk space",
      /it is full/,
    ],
    ["full", 507, "", /it is full. Check its disk/],
  ])("a server that is %s (%i) answers searches, keeps nothing half, and takes writes again later", async (...row) => {
    const [, status, error, says] = row;
    const stores = await grown(open({ url: proxy.url }));
    proxy.meet(({ method, path }) =>
      (method === "PUT" || method === "POST") && WRITES.test(path)
        ? { status, body: { status: { error } } }
        : undefined,
    );
    await expect(stores.vectors.upsert(SCOPE, [POINT])).rejects.toMatchObject({
      code: "store_unavailable",
      message: expect.stringMatching(says),
    });
    expect(await found(stores)).toEqual(["a0"]);
    expect(await stores.vectors.missing(SCOPE, READ, { filter: EVERYTHING }, 10)).toHaveLength(1);
    proxy.meet(NO_FAULT);
    await stores.vectors.upsert(SCOPE, [POINT]);
    expect(await found(stores)).toEqual(["a0", "a1"]);
    expect(await stores.vectors.missing(SCOPE, READ, { filter: EVERYTHING }, 10)).toEqual([]);
  });

  test("a write or a search whose answer is lost is sent again, and done once", async () => {
    const stores = await grown(open({ url: proxy.url }));
    const lost = new Set<string>();
    proxy.meet(({ method, path }) => {
      const name = `${method} ${path.split("?")[0] ?? ""}`;
      if (lost.has(name)) return undefined;
      lost.add(name);
      return "lost answer";
    });
    await stores.vectors.upsert(SCOPE, [POINT]);
    expect(await found(stores)).toEqual(["a0", "a1"]);
    expect((await stores.vectors.fingerprint(SCOPE, MODEL)).count).toBe(2);
    expect(lost.size).toBeGreaterThan(2);
  });

  test("a collection whose vectors are compared in another way is not taken for ours", async () => {
    const stores = await grown(open());
    const client = new QdrantClient({ url: server.url, headers: { "api-key": KEY }, checkCompatibility: false });
    const { collections } = await client.getCollections();
    const { name } = collections.find((one) => one.name.startsWith(stores.settings.collectionPrefix ?? ""))!;
    await client.deleteCollection(name);
    await client.createCollection(name, {
      vectors: { dense: { size: 2, distance: "Dot" } },
      sparse_vectors: { terms: {} },
    });
    const other = open({ collectionPrefix: stores.settings.collectionPrefix ?? "" });
    await grow(other, [state("a0", "A"), state("a1", "A")]);
    const refused = { code: "store_unavailable", message: expect.stringContaining("compared by cosine") };
    await expect(other.vectors.upsert(SCOPE, [POINT])).rejects.toMatchObject(refused);
    await expect(found(other)).rejects.toMatchObject(refused);
  });

  test("a search by a vector of another length is refused by both lengths", async () => {
    const stores = await grown(open());
    await expect(stores.vectors.topK(SCOPE, READ, unit(1, 1, 1), EVERYTHING, BEST)).rejects.toMatchObject({
      code: "model_dimension",
      details: { expected: 2, received: 3 },
    });
  });

  test("points that are gone, with their collection or without it, are noticed by the last one that was noted", async () => {
    const stores = await grown(open());
    const { points } = stores.qdrant;
    expect(await points.areLost(SCOPE)).toBe(false);
    await points.remove(SCOPE, MODEL, [{ id: "nod_a0", born: 1, field: "" }]);
    expect(await points.areLost(SCOPE)).toBe(true);
    await stores.vectors.upsert(SCOPE, [{ ...POINT, id: "nod_a0" }]);
    expect(await points.areLost(SCOPE)).toBe(false);
    await stores.drop();
    expect(await points.areLost(SCOPE)).toBe(true);
  });

  test("a collection with vectors of another length is refused by both lengths", async () => {
    const stores = await grown(open());
    const other = open({ collectionPrefix: stores.settings.collectionPrefix ?? "" });
    await grow(other, [state("a0", "A")]);
    const point = { ...POINT, id: "nod_a0", embedding: embedding(1, 0, 0) };
    await expect(other.vectors.upsert(SCOPE, [point])).rejects.toMatchObject({
      code: "model_dimension",
      details: { expected: 2, received: 3 },
    });
    expect(await other.vectors.missing(SCOPE, READ, { filter: EVERYTHING }, 10)).toHaveLength(1);
  });

  test("how long the vectors of a model are is told without making anything", async () => {
    const { settings } = await grown(open());
    const connection = new QdrantConnection(settings);
    const collections = new Collections(connection, settings);
    expect(await collections.dimensionOf(MODEL)).toBe(2);
    expect(await collections.dimensionOf("model-unheard-of")).toBeUndefined();
    expect(await collections.find("model-unheard-of")).toBeUndefined();
    connection.close();
  });

  test("processes that make a collection at once make one", async () => {
    const collectionPrefix = "test-at-once";
    const processes = Array.from({ length: 6 }, () => open({ collectionPrefix }));
    await Promise.all(
      processes.map(async (stores, index) => {
        const scope = { ...SCOPE, tenant: `ten_${index}` };
        const states = [state("a0", "A")];
        await grow(stores, states, {}, scope);
        await stores.vectors.upsert(scope, [{ ...POINT, id: "nod_a0" }]);
        expect((await stores.vectors.fingerprint(scope, MODEL)).count).toBe(1);
      }),
    );
    const client = new QdrantClient({ url: server.url, headers: { "api-key": KEY }, checkCompatibility: false });
    const { collections } = await client.getCollections();
    const names = collections.map(({ name }) => name).filter((name) => name.startsWith(collectionPrefix));
    expect(names).toEqual([expect.stringMatching(/^test-at-once-model_1-[0-9a-f]{16}$/)]);
    const { payload_schema: indexes } = await client.getCollection(names[0]!);
    expect(Object.keys(indexes).sort()).toEqual(
      ["born", "died", "field", "head", "memory", "node", "parent", "path", "tenant", "type"].sort(),
    );
  });

  test("a collection that was removed by hand is made again", async () => {
    const stores = await grown(open());
    await stores.drop();
    expect(await codeOf(found(stores))).toBe("store_unavailable");
    expect(await found(stores)).toEqual([]);
    await stores.vectors.upsert(SCOPE, [POINT]);
    expect(await found(stores)).toEqual(["a1"]);
  });
}
