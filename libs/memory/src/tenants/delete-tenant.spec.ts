import { expect, test } from "@jest/globals";
import { EspalierError } from "#core";
import { inMemoryStores } from "#stores";
import { aMemory } from "../testing/a-memory.js";
import { deleteTenant, type TenantQueues } from "./delete-tenant.js";
import { finishDeletions } from "./finish-deletions.js";

const TENANT = { id: "ten_a", name: "a", createdAt: 0, weight: 1, limits: {} };

async function open(queues: Partial<TenantQueues> = {}) {
  const stores = inMemoryStores();
  await stores.tenants.create(TENANT);
  for (const id of ["mem_1", "mem_2", "mem_3"]) await stores.tree.createMemory("ten_a", aMemory({ id }));
  await stores.tree.createMemory("ten_b", aMemory());
  await stores.keys.add({ id: "key_1", tenant: "ten_a", name: "", scopes: ["read"], createdAt: 0 }, "h");
  const services = {
    ...stores,
    queues: {
      cancelJobs: async () => ({ cancelled: 2, running: 0 }),
      removeKeys: async () => 5,
      ...queues,
    },
    now: () => 1_000,
  };
  return { stores, services };
}

const OPTIONS = { withinMs: 1_000 };

test("everything goes, with counts, and the record last", async () => {
  const { stores, services } = await open();
  const { done, counts } = await deleteTenant(services, "ten_a", OPTIONS);
  expect(done).toBe(true);
  expect(counts).toMatchObject({ memories: 3, jobs: 2, keys: 1, records: 5 });
  expect(await stores.tenants.get("ten_a")).toBeUndefined();
  expect(await stores.tree.listMemories("ten_a", { limit: 9 })).toEqual([]);
  expect(await stores.tree.listMemories("ten_b", { limit: 9 })).toHaveLength(1);
});

test("a deletion that dies at any step leaves the record that says so, and the next call finishes it", async () => {
  const steps = [
    ["queues", "cancelJobs"],
    ["keys", "removeAll"],
    ["tree", "deleteMemory"],
    ["caches", "deleteTenant"],
    ["blobs", "deleteTenant"],
    ["queues", "removeKeys"],
    ["tenants", "remove"],
  ] as const;
  for (const [service, method] of steps) {
    const { stores, services } = await open();
    let calls = 0;
    const dying = new Proxy(services[service], {
      get: (target, name) => {
        const own: unknown = Reflect.get(target, name);
        if (typeof own !== "function") return own;
        return (...values: unknown[]): unknown => {
          // Of the memories the second one: some are gone already.
          if (name === method && (calls += 1) === (method === "deleteMemory" ? 2 : 1)) {
            throw new EspalierError("store_unavailable", "died");
          }
          return Reflect.apply(own, target, values);
        };
      },
    });
    const failing = deleteTenant({ ...services, [service]: dying }, "ten_a", OPTIONS);
    await expect(failing).rejects.toMatchObject({ code: "store_unavailable" });
    expect((await stores.tenants.get("ten_a"))?.deletedAt).toBe(1_000);
    expect(await finishDeletions({ ...services, now: () => 1_050 }, { ...OPTIONS, idleMs: 100 })).toBe(0);
    expect(await finishDeletions({ ...services, now: () => 1_100 }, { ...OPTIONS, idleMs: 100 })).toBe(1);
    expect(await stores.tenants.get("ten_a")).toBeUndefined();
    expect(await stores.tree.listMemories("ten_a", { limit: 9 })).toEqual([]);
    expect(await stores.keys.list("ten_a", { limit: 9 })).toEqual([]);
  }
});

test("a tenant stays while one of its jobs runs, and while there is no time for its memories", async () => {
  const { stores, services } = await open({ cancelJobs: async () => ({ cancelled: 0, running: 1 }) });
  expect((await deleteTenant(services, "ten_a", OPTIONS)).done).toBe(false);
  expect(await stores.tenants.get("ten_a")).toMatchObject({ deletedAt: 1_000 });
  const late = await open();
  const { done, counts } = await deleteTenant(late.services, "ten_a", { withinMs: 0 });
  expect([done, counts.memories]).toEqual([false, 0]);
  expect((await deleteTenant(late.services, "ten_a", OPTIONS)).counts.memories).toBe(3);
});

test("tenants that nobody deletes are left alone", async () => {
  const { stores, services } = await open();
  expect(await finishDeletions(services, { ...OPTIONS, idleMs: 0 })).toBe(0);
  expect(await stores.tenants.get("ten_a")).toEqual(TENANT);
});
