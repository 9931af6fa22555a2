import { expect, test } from "@jest/globals";
import type { ApiKey, KeyStore } from "#memory";
import { Authenticator } from "./authenticator.js";
import { hashSecret, newSecret } from "./secret.js";

const key: ApiKey = { id: "key_1", tenant: "t", name: "", scopes: ["read"], createdAt: 0, expiresAt: 1_000 };

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
  const authenticator = new Authenticator(store, { now: () => 0 });
  expect(await authenticator.authenticate(`Bearer ${secret}`)).toBe(key);
  expect(await authenticator.authenticate(`bearer ${secret}`)).toBe(key);
  expect(lookups()).toBe(1);
});

test("an unknown key costs one look-up, as a known one does", async () => {
  const { store, lookups } = storeWith(newSecret());
  const authenticator = new Authenticator(store, { now: () => 0 });
  const unknown = `Bearer ${newSecret()}`;
  await expect(authenticator.authenticate(unknown)).rejects.toMatchObject({ code: "unauthorized" });
  await expect(authenticator.authenticate(unknown)).rejects.toMatchObject({ code: "unauthorized" });
  expect(lookups()).toBe(1);
});

test("a key that is past its time says so, also while it is remembered", async () => {
  const secret = newSecret();
  let now = 0;
  const authenticator = new Authenticator(storeWith(secret).store, { now: () => now });
  await authenticator.authenticate(`Bearer ${secret}`);
  now = 1_000;
  await expect(authenticator.authenticate(`Bearer ${secret}`)).rejects.toMatchObject({ code: "key_expired" });
});

test("a revoked key stops working at once in the process that revoked it", async () => {
  const secret = newSecret();
  const { store, hashes } = storeWith(secret);
  const authenticator = new Authenticator(store, { now: () => 0 });
  await authenticator.authenticate(`Bearer ${secret}`);
  hashes.clear();
  authenticator.forget();
  await expect(authenticator.authenticate(`Bearer ${secret}`)).rejects.toMatchObject({ code: "unauthorized" });
});

test("headers that are no bearer keys are refused without a look-up", async () => {
  const { store, lookups } = storeWith(newSecret());
  const authenticator = new Authenticator(store, { now: () => 0 });
  for (const header of [undefined, "", "Bearer", "Basic abc", "Bearer a b", `Bearer ${"x".repeat(600)}`]) {
    await expect(authenticator.authenticate(header)).rejects.toMatchObject({ code: "unauthorized" });
  }
  expect(lookups()).toBe(0);
});
