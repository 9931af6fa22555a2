import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import type { Tenant } from "#memory";
import type { Stores } from "../stores.js";
import { codeOf, type OpenEmpty } from "./fixtures.js";

const tenant = (id: string, more: Partial<Tenant> = {}): Tenant => ({
  ...{ id, name: `name of ${id}`, createdAt: 1_700_000_000_123, weight: 1, limits: {} },
  ...more,
});

/** What every TenantStore does. */
export function describeTenantStore(name: string, open: OpenEmpty): void {
  describe(`${name}: TenantStore`, () => {
    let stores: Stores;
    beforeEach(async () => {
      stores = await open();
    });
    afterEach(() => stores.close());

    test("a tenant comes back as it was made, and making it again changes nothing", async () => {
      const full = tenant("ten_1", {
        weight: 0.25,
        limits: { requestsPerSecond: 0.5, queuedBytes: 2 ** 45, nodes: 0, bytes: "unlimited" },
        suspendedAt: 7,
        deletedAt: 8,
      });
      expect(await stores.tenants.create(full)).toEqual(full);
      expect(await stores.tenants.create(tenant("ten_1", { name: "another" }))).toEqual(full);
      expect(await stores.tenants.get("ten_1")).toEqual(full);
      expect(await stores.tenants.get("ten_2")).toBeUndefined();
    });

    test("tenants are listed by id in pages, or by name", async () => {
      for (const id of ["ten_3", "default", "ten_1", "ten_2"]) await stores.tenants.create(tenant(id));
      await stores.tenants.create(tenant("ten_4", { name: "name of ten_2" }));
      const ids = async (query: Parameters<Stores["tenants"]["list"]>[0]) =>
        (await stores.tenants.list(query)).map(({ id }) => id);
      expect(await ids({ limit: 2 })).toEqual(["default", "ten_1"]);
      expect(await ids({ limit: 9, after: "ten_1" })).toEqual(["ten_2", "ten_3", "ten_4"]);
      expect(await ids({ limit: 9, name: "name of ten_2" })).toEqual(["ten_2", "ten_4"]);
      expect(await ids({ limit: 9, name: "name of ten_2", after: "ten_2" })).toEqual(["ten_4"]);
      expect(await ids({ limit: 9, name: "nobody" })).toEqual([]);
    });

    test("a patch changes what it names, and null takes away", async () => {
      await stores.tenants.create(tenant("ten_1", { limits: { burst: 5, nodes: 10 } }));
      await stores.tenants.create(tenant("ten_2"));
      const changed = tenant("ten_1", { name: "new", weight: 4, limits: { nodes: 10, bytes: 20 }, suspendedAt: 3 });
      const patch = { name: "new", weight: 4, limits: { burst: null, bytes: 20 }, suspendedAt: 3 };
      expect(await stores.tenants.patch("ten_1", patch)).toEqual(changed);
      expect(await stores.tenants.get("ten_1")).toEqual(changed);
      expect(await stores.tenants.patch("ten_1", {})).toEqual(changed);
      const { suspendedAt, ...resumed } = changed;
      expect(suspendedAt).toBe(3);
      expect(await stores.tenants.patch("ten_1", { suspendedAt: null })).toEqual(resumed);
      expect(await stores.tenants.patch("ten_1", { deletedAt: 9 })).toEqual({ ...resumed, deletedAt: 9 });
      expect(await stores.tenants.get("ten_2")).toEqual(tenant("ten_2"));
      expect(await stores.tenants.patch("ten_3", { name: "new" })).toBeUndefined();
      expect(await stores.tenants.get("ten_3")).toBeUndefined();
    });

    test("patches at the same time lose nothing of each other", async () => {
      await stores.tenants.create(tenant("ten_1"));
      const names = ["requestsPerSecond", "burst", "queuedJobs", "queuedBytes", "inFlight", "nodes", "bytes"];
      await Promise.all(names.map((limit) => stores.tenants.patch("ten_1", { limits: { [limit]: 1 } })));
      expect((await stores.tenants.get("ten_1"))?.limits).toEqual(Object.fromEntries(names.map((limit) => [limit, 1])));
    });

    test("what is removed is gone, once, and a closed store says that it is", async () => {
      for (const id of ["ten_1", "ten_2"]) await stores.tenants.create(tenant(id));
      expect(await stores.tenants.remove("ten_1")).toBe(true);
      expect(await stores.tenants.remove("ten_1")).toBe(false);
      expect(await stores.tenants.get("ten_1")).toBeUndefined();
      expect(await stores.tenants.list({ limit: 9 })).toEqual([tenant("ten_2")]);
      await stores.close();
      expect(await codeOf(stores.tenants.get("ten_2"))).toBe("store_unavailable");
    });
  });
}
