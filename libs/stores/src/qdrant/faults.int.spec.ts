import { afterAll, afterEach, describe, expect, test } from "@jest/globals";
import { QdrantClient } from "@qdrant/js-client-rest";
import { startQdrant, type TestQdrant } from "../../../../test/support/qdrant.js";
import type { NodeFilter } from "#core";
import { codeOf, embedding, grow, MODEL, SCOPE, state, unit } from "../contract/fixtures.js";
import { type QdrantOverInMemory, qdrantOverInMemory } from "./testing/qdrant-over-in-memory.js";

const EVERYTHING: NodeFilter = { scope: { kind: "descendants", of: [""] } };
const READ = { revision: 1, model: MODEL, field: "" };
const KEY = "a key of the test";
const BEST = { limit: 10, exact: true };
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
  afterEach(async () => {
    for (const stores of opened.splice(0)) await stores.close();
  });
  afterAll(() => server.close());

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
