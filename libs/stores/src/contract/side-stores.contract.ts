import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import type { ApiKey, CacheStore } from "#memory";
import type { CacheLimits, Stores } from "../stores.js";
import { codeOf, embedding, type OpenEmpty, SCOPE, TENANT } from "./fixtures.js";

/** Opens a fresh, empty cache with its bounds. */
export type OpenCaches = (limits: CacheLimits) => Promise<{
  readonly caches: CacheStore;
  close(): Promise<void>;
}>;

/** What every CacheStore does. */
export function describeCacheStore(name: string, open: OpenCaches): void {
  describe(`${name}: CacheStore`, () => {
    let stores: Awaited<ReturnType<OpenCaches>>;
    beforeEach(async () => {
      stores = await open({ embeddings: 3, entailments: 3 });
    });
    afterEach(() => stores.close());

    test("vectors and values come back as they were put, to their tenant only", async () => {
      const windowed = { ...embedding(0.6, 0.8), windowed: true };
      await stores.caches.embeddings(TENANT).put(
        new Map([
          ["one", embedding(1, 2, 3)],
          ["two", windowed],
        ]),
      );
      await stores.caches.entailments(TENANT).put(new Map([["one", 0.25]]));
      const found = await stores.caches.embeddings(TENANT).get(["two", "none", "one"]);
      expect(found.get("one")).toEqual(embedding(1, 2, 3));
      expect(found.get("two")).toEqual(windowed);
      expect(found.size).toBe(2);
      expect(await stores.caches.entailments(TENANT).get(["one", "two"])).toEqual(new Map([["one", 0.25]]));
      expect((await stores.caches.embeddings("other").get(["one"])).size).toBe(0);
      expect((await stores.caches.entailments("other").get(["one"])).size).toBe(0);
    });

    test("everything of a tenant goes at once, and nothing of another", async () => {
      const { caches } = stores;
      await caches.embeddings(TENANT).put(new Map([["one", embedding(1)]]));
      await caches.entailments(TENANT).put(new Map([["one", 0.5]]));
      await caches.entailments("other").put(new Map([["one", 0.5]]));
      expect(await caches.deleteTenant(TENANT)).toBe(2);
      expect(await caches.deleteTenant(TENANT)).toBe(0);
      expect((await caches.embeddings(TENANT).get(["one"])).size).toBe(0);
      expect((await caches.entailments("other").get(["one"])).size).toBe(1);
      // What is gone no longer counts against the bounds.
      await caches.embeddings(TENANT).put(new Map(["a", "b", "c"].map((hash) => [hash, embedding(1)])));
      expect((await caches.embeddings(TENANT).get(["a", "b", "c"])).size).toBe(3);
    });

    test("the oldest rows go first when there are too many", async () => {
      const put = (hash: string): Promise<void> => stores.caches.entailments(TENANT).put(new Map([[hash, 1]]));
      for (const hash of ["a", "b", "c", "a", "d"]) await put(hash);
      const kept = await stores.caches.entailments(TENANT).get(["a", "b", "c", "d"]);
      expect([...kept.keys()]).toEqual(["b", "c", "d"]);
      const four = ["4", "3", "2", "1"].map((hash) => [hash, embedding(1)] as const);
      await stores.caches.embeddings(TENANT).put(new Map(four));
      expect([...(await stores.caches.embeddings(TENANT).get(["1", "2", "3", "4"])).keys()]).toEqual(["1", "2", "3"]);
    });
  });
}

/** What a CacheStore does whose bound is over all tenants. */
export function describeSharedCacheBound(name: string, open: OpenEmpty): void {
  test(`${name}: the oldest rows of a cache go first, over all tenants`, async () => {
    const stores = await open({ embeddings: 3, entailments: 3 });
    const put = (tenant: string, hash: string): Promise<void> =>
      stores.caches.entailments(tenant).put(new Map([[hash, 1]]));
    await put("t1", "a");
    await put("t2", "b");
    await put("t1", "c");
    await put("t2", "d");
    expect([...(await stores.caches.entailments("t1").get(["a", "c"])).keys()]).toEqual(["c"]);
    expect([...(await stores.caches.entailments("t2").get(["b", "d"])).keys()]).toEqual(["b", "d"]);
    await stores.close();
  });
}

/** What every BlobStore and KeyStore does. */
export function describeSideStores(name: string, open: OpenEmpty): void {
  describe(`${name}: BlobStore`, () => {
    let stores: Stores;
    beforeEach(async () => {
      stores = await open();
    });
    afterEach(() => stores.close());

    test("bytes come back to their tenant until they are deleted or swept", async () => {
      const { blobs } = stores;
      await blobs.put(TENANT, "k", Uint8Array.of(1, 2), { expiresAt: 100 });
      await blobs.put(TENANT, "k", Uint8Array.of(3), { expiresAt: 200, memory: SCOPE.memory });
      await blobs.put(TENANT, "early", new Uint8Array(), { expiresAt: 99 });
      expect(await blobs.get(TENANT, "k")).toEqual(Uint8Array.of(3));
      expect(await blobs.get("other", "k")).toBeUndefined();
      expect(await blobs.sweep(100)).toBe(1);
      expect(await blobs.get(TENANT, "early")).toBeUndefined();
      await blobs.delete("other", "k");
      expect(await blobs.get(TENANT, "k")).toEqual(Uint8Array.of(3));
      await blobs.delete(TENANT, "k");
      expect(await blobs.get(TENANT, "k")).toBeUndefined();
    });

    test("all blobs of a tenant go at once", async () => {
      const { blobs } = stores;
      await blobs.put(TENANT, "a", Uint8Array.of(1), { expiresAt: 100 });
      await blobs.put(TENANT, "b", Uint8Array.of(2), { expiresAt: 100, memory: SCOPE.memory });
      await blobs.put(`${TENANT}2`, "a", Uint8Array.of(3), { expiresAt: 100 });
      expect(await blobs.deleteTenant(TENANT)).toBe(2);
      expect(await blobs.deleteTenant(TENANT)).toBe(0);
      expect(await blobs.get(TENANT, "b")).toBeUndefined();
      expect(await blobs.get(`${TENANT}2`, "a")).toEqual(Uint8Array.of(3));
    });
  });

  describe(`${name}: KeyStore`, () => {
    let stores: Stores;
    beforeEach(async () => {
      stores = await open();
    });
    afterEach(() => stores.close());

    test("keys are found by the hash of their secret and listed in pages by tenant", async () => {
      const { keys } = stores;
      const key = (id: string, tenant = TENANT): ApiKey => ({ id, tenant, name: id, scopes: ["read"], createdAt: 1 });
      const full: ApiKey = { ...key("key_2"), scopes: ["read", "admin"], memoryPrefix: "mem_1", expiresAt: 5 };
      await keys.add(key("key_1"), "h1");
      await keys.add(full, "h2");
      await keys.add(key("key_3"), "h3");
      await keys.add(key("key_9", "other"), "h9");
      expect(await keys.byHash("h2")).toEqual(full);
      expect(await keys.byHash("none")).toBeUndefined();
      expect(await keys.list(TENANT, { limit: 2 })).toEqual([key("key_1"), full]);
      expect(await keys.list(TENANT, { limit: 2, after: "key_2" })).toEqual([key("key_3")]);
      expect(await keys.count()).toBe(4);
      expect(await keys.remove("other", "key_1")).toBe(false);
      expect(await keys.remove(TENANT, "key_1")).toBe(true);
      expect(await keys.byHash("h1")).toBeUndefined();
      expect(await codeOf(keys.add(key("key_4"), "h9"))).not.toBe("no error");
    });

    test("a key is found by its id and ends when it is told to, never later than before", async () => {
      const { keys } = stores;
      const key: ApiKey = { id: "key_1", tenant: TENANT, name: "", scopes: ["read"], createdAt: 1 };
      await keys.add(key, "h1");
      await keys.add({ ...key, id: "key_2", tenant: "other", expiresAt: 2_000_000_000_000 }, "h2");
      expect(await keys.get("key_1")).toEqual(key);
      expect(await keys.get("key_3")).toBeUndefined();
      expect(await keys.expire("key_1", 1_900_000_000_000)).toEqual({ ...key, expiresAt: 1_900_000_000_000 });
      expect((await keys.expire("key_1", 1_950_000_000_000))?.expiresAt).toBe(1_900_000_000_000);
      expect((await keys.expire("key_1", 5))?.expiresAt).toBe(5);
      expect((await keys.byHash("h1"))?.expiresAt).toBe(5);
      expect((await keys.get("key_2"))?.expiresAt).toBe(2_000_000_000_000);
      expect(await keys.expire("key_3", 5)).toBeUndefined();
    });

    test("keys that have not ended are counted, and of the others those that ended first are forgotten", async () => {
      const { keys } = stores;
      const key: ApiKey = { id: "key_1", tenant: TENANT, name: "", scopes: ["read"], createdAt: 1 };
      await keys.add(key, "h1");
      for (const [at, expiresAt] of [40, 10, 30, 20].entries()) {
        await keys.add({ ...key, id: `key_1${at}`, expiresAt }, `h1${at}`);
      }
      await keys.add({ ...key, id: "key_2", tenant: "other", expiresAt: 5 }, "h2");
      expect(await keys.countLive(TENANT, 0)).toBe(5);
      expect(await keys.countLive(TENANT, 30)).toBe(2);
      expect(await keys.countLive("other", 5)).toBe(0);
      expect(await keys.forgetEnded(TENANT, { by: 30, keep: 3 })).toBe(0);
      expect(await keys.forgetEnded(TENANT, { by: 30, keep: 1 })).toBe(2);
      expect((await keys.list(TENANT, { limit: 9 })).map(({ id }) => id)).toEqual(["key_1", "key_10", "key_12"]);
      expect(await keys.get("key_2")).toBeDefined();
    });

    test("all keys of a tenant go at once", async () => {
      const { keys } = stores;
      const key: ApiKey = { id: "key_1", tenant: TENANT, name: "", scopes: ["read"], createdAt: 1 };
      await keys.add(key, "h1");
      await keys.add({ ...key, id: "key_2" }, "h2");
      await keys.add({ ...key, id: "key_3", tenant: "other" }, "h3");
      expect(await keys.removeAll(TENANT)).toBe(2);
      expect(await keys.removeAll(TENANT)).toBe(0);
      expect(await keys.byHash("h1")).toBeUndefined();
      expect(await keys.byHash("h3")).toMatchObject({ id: "key_3" });
    });
  });

  describe(`${name}: all stores`, () => {
    test("a closed store answers store_unavailable, and closing twice does no harm", async () => {
      const stores = await open();
      await stores.ping();
      await stores.close();
      await stores.close();
      const calls = [stores.ping(), stores.tree.getMemory(SCOPE), stores.keys.count(), stores.blobs.sweep(0)];
      expect(await Promise.all(calls.map(codeOf))).toEqual(calls.map(() => "store_unavailable"));
    });
  });
}
