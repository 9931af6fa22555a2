import { afterAll, beforeAll, beforeEach, expect, test } from "@jest/globals";
import { Redis } from "ioredis";
import { startRedis, type TestRedis } from "../../../../test/support/redis.js";
import { RETENTION_SECONDS } from "#core";
import { embedding } from "../contract/fixtures.js";
import { describeCacheStore } from "../contract/side-stores.contract.js";
import { DEFAULT_CACHE_LIMITS } from "../stores.js";
import { RedisCacheStore } from "./cache-store.js";

let server: TestRedis;
let redis: Redis;
beforeAll(async () => {
  server = await startRedis();
  redis = new Redis({ path: server.address, disconnectTimeout: 200 });
});
beforeEach(() => redis.flushall());
afterAll(async () => {
  redis.disconnect();
  await server.close();
});

describeCacheStore("redis", async (limits) => {
  const caches = new RedisCacheStore({ address: server.address, limits });
  return {
    caches,
    close: async () => {
      caches.close();
    },
  };
});

const openCaches = (onFailure?: () => void): RedisCacheStore =>
  new RedisCacheStore({
    address: server.address,
    limits: DEFAULT_CACHE_LIMITS,
    ...(onFailure !== undefined && { onFailure }),
  });

test("rows that are too old go with the next write, and all of them when nothing is written any more", async () => {
  const caches = openCaches();
  await caches.entailments("ten_a").put(new Map([["old", 0.5]]));
  const ages = "espalier:{ten_a}:cache:entailments:ages";
  expect(await redis.ttl(ages)).toBeGreaterThan(RETENTION_SECONDS.cache - 60);
  expect(await redis.ttl("espalier:{ten_a}:cache:entailments")).toBeGreaterThan(RETENTION_SECONDS.cache - 60);
  await redis.zincrby(ages, -RETENTION_SECONDS.cache * 1_000_000, "old");
  await caches.entailments("ten_a").put(new Map([["new", 0.75]]));
  expect(await caches.entailments("ten_a").get(["old", "new"])).toEqual(new Map([["new", 0.75]]));
  expect(await redis.zrange(ages, "0", "-1")).toEqual(["new"]);
  caches.close();
});

test("a tenant's rows are deleted and counted, and nothing of it is left", async () => {
  const caches = openCaches();
  const two = [1, 2].map((number) => [String(number), embedding(number, 1)] as const);
  for (const tenant of ["ten_a", "ten_b"]) await caches.embeddings(tenant).put(new Map(two));
  await caches.entailments("ten_a").put(new Map([["one", 1]]));
  expect(await caches.deleteTenant("ten_a")).toBe(3);
  expect((await redis.keys("*")).filter((key) => key.includes("ten_a"))).toEqual([]);
  expect((await caches.embeddings("ten_b").get(["1", "2"])).size).toBe(2);
  expect(await caches.deleteTenant("ten_a")).toBe(0);
  caches.close();
});

test("a Redis that is gone, full or silent is a cache that has nothing, soon, and serves again when it is back", async () => {
  let failures = 0;
  const caches = openCaches(() => (failures += 1));
  const kept = new Map([["one", 1]]);
  await caches.entailments("ten_a").put(kept);
  await redis.config("SET", "maxmemory", "1mb");
  await caches.entailments("ten_a").put(new Map([["two", 2]]));
  expect(failures).toBe(1);
  await redis.config("SET", "maxmemory", "0");
  expect(await caches.entailments("ten_a").get(["one", "two"])).toEqual(kept);
  server.freeze();
  expect((await caches.entailments("ten_a").get(["one"])).size).toBe(0);
  server.thaw();
  expect(await caches.entailments("ten_a").get(["one"])).toEqual(kept);
  await server.kill();
  expect((await caches.entailments("ten_a").get(["one"])).size).toBe(0);
  await caches.entailments("ten_a").put(kept);
  expect(failures).toBeGreaterThanOrEqual(4);
  await server.start();
  caches.close();
});
