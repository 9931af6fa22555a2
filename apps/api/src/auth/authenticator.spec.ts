import { expect, test } from "@jest/globals";
import { EspalierError } from "#core";
import { NO_TENANT, type ApiKey, type KeyStore, type Tenant } from "#memory";
import { Authenticator } from "./authenticator.js";
import { hashSecret, newSecret } from "./secret.js";

const key: ApiKey = { id: "key_1", tenant: "t", name: "", scopes: ["read"], createdAt: 0, expiresAt: 1_000 };

const tenant: Tenant = { id: "t", name: "", createdAt: 0, weight: 1, limits: {} };
const tenants = { get: async (id: string) => (id === "t" ? tenant : undefined) };

function storeWith(secret: string) {
  let lookups = 0;
  const hashes = new Map([[hashSecret(secret), key]]);
  const store = {
    byHash: async (hash: string) => {
      lookups += 1;
      return hashes.get(hash);
    },
  } as unknown as KeyStore;
  return { store, hashes, lookups: () => lookups };
}

test("a key is found by its hash, once in a while", async () => {
  const secret = newSecret();
  const { store, lookups } = storeWith(secret);
  const authenticator = new Authenticator(store, tenants, { now: () => 0 });
  expect(await authenticator.authenticate(`Bearer ${secret}`)).toBe(key);
  expect(await authenticator.authenticate(`bearer ${secret}`)).toBe(key);
  expect(lookups()).toBe(1);
});

test("an unknown key costs one look-up, as a known one does", async () => {
  const { store, lookups } = storeWith(newSecret());
  const authenticator = new Authenticator(store, tenants, { now: () => 0 });
  const unknown = `Bearer ${newSecret()}`;
  await expect(authenticator.authenticate(unknown)).rejects.toMatchObject({ code: "unauthorized" });
  await expect(authenticator.authenticate(unknown)).rejects.toMatchObject({ code: "unauthorized" });
  expect(lookups()).toBe(1);
});

test("a key that is past its time says so, also while it is remembered", async () => {
  const secret = newSecret();
  let now = 0;
  const authenticator = new Authenticator(storeWith(secret).store, tenants, { now: () => now });
  await authenticator.authenticate(`Bearer ${secret}`);
  now = 1_000;
  await expect(authenticator.authenticate(`Bearer ${secret}`)).rejects.toMatchObject({ code: "key_expired" });
});

test("a revoked key stops working at once in the process that revoked it", async () => {
  const secret = newSecret();
  const { store, hashes } = storeWith(secret);
  const authenticator = new Authenticator(store, tenants, { now: () => 0 });
  await authenticator.authenticate(`Bearer ${secret}`);
  hashes.clear();
  authenticator.forget();
  await expect(authenticator.authenticate(`Bearer ${secret}`)).rejects.toMatchObject({ code: "unauthorized" });
});

test("a key is refused once it is revoked, and not because the store is away", async () => {
  const secret = newSecret();
  const { store, hashes } = storeWith(secret);
  let away = false;
  const byHash = (hash: string): Promise<ApiKey | undefined> => {
    return away ? Promise.reject(new EspalierError("store_unavailable", "Away.")) : store.byHash(hash);
  };
  const authenticator = new Authenticator({ byHash }, tenants, { now: () => 0 });
  const refuses = (): Promise<boolean> => {
    authenticator.forget();
    return authenticator.refuses(`Bearer ${secret}`);
  };
  expect(await refuses()).toBe(false);
  away = true;
  expect(await refuses()).toBe(false);
  away = false;
  hashes.clear();
  expect(await refuses()).toBe(true);
});

test("headers that are no bearer keys are refused without a look-up", async () => {
  const { store, lookups } = storeWith(newSecret());
  const authenticator = new Authenticator(store, tenants, { now: () => 0 });
  for (const header of [undefined, "", "Bearer", "Basic abc", "Bearer a b", `Bearer ${"x".repeat(600)}`]) {
    await expect(authenticator.authenticate(header)).rejects.toMatchObject({ code: "unauthorized" });
  }
  expect(lookups()).toBe(0);
});

test("a key counts for nothing while its tenant is not there, and says so while that is suspended", async () => {
  const secret = newSecret();
  let found: Tenant | undefined = tenant;
  const authenticator = new Authenticator(storeWith(secret).store, { get: async () => found }, { now: () => 0 });
  const codeOf = async (changed: Tenant | undefined): Promise<unknown> => {
    found = changed;
    authenticator.forget();
    return authenticator.authenticate(`Bearer ${secret}`).then(
      () => "let in",
      (error: unknown) => (error as { readonly code: string }).code,
    );
  };
  expect(await codeOf({ ...tenant, suspendedAt: 1 })).toBe("tenant_suspended");
  expect(await codeOf({ ...tenant, suspendedAt: 1, deletedAt: 2 })).toBe("unauthorized");
  expect(await codeOf(undefined)).toBe("unauthorized");
  expect(await codeOf(tenant)).toBe("let in");
});

test("an operator's key of no tenant needs none", async () => {
  const [secret, own] = [newSecret(), { ...key, tenant: NO_TENANT, scopes: ["operator"] } as const];
  const authenticator = new Authenticator(
    { byHash: async () => own },
    { get: async () => undefined },
    { now: () => 0 },
  );
  expect(await authenticator.authenticate(`Bearer ${secret}`)).toBe(own);
});

test("what was read before everything was forgotten is not remembered after", async () => {
  const secret = newSecret();
  const { store, hashes } = storeWith(secret);
  const arrived = Promise.withResolvers<undefined>();
  const slow = {
    byHash: async (hash: string) => {
      const found = await store.byHash(hash);
      await arrived.promise;
      return found;
    },
  };
  const authenticator = new Authenticator(slow, tenants, { now: () => 0 });
  const first = authenticator.authenticate(`Bearer ${secret}`);
  hashes.clear();
  authenticator.forget();
  arrived.resolve(undefined);
  expect(await first).toBe(key);
  await expect(authenticator.authenticate(`Bearer ${secret}`)).rejects.toMatchObject({ code: "unauthorized" });
});
