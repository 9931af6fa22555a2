import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { randomId, systemClock } from "#core";
import type { ApiKey, KeyStore, TenantStore } from "#memory";
import { inMemoryStores } from "#stores";
import { ensureAdminKey } from "./admin-key.js";
import { hashSecret } from "./secret.js";

let dataFolder: string;
let stored: Map<string, ApiKey>;
let tenants: TenantStore;

const ensure = () =>
  ensureAdminKey({
    keys: {
      count: async () => stored.size,
      add: async (key: ApiKey, hash: string) => {
        stored.set(hash, key);
      },
    } as unknown as KeyStore,
    tenants,
    dataFolder,
    clock: systemClock,
    ids: randomId,
  });

beforeEach(async () => {
  dataFolder = await mkdtemp(join(tmpdir(), "espalier-key-"));
  stored = new Map();
  tenants = inMemoryStores().tenants;
});

afterEach(async () => {
  await rm(dataFolder, { recursive: true });
});

test("the first start makes a key with every scope and keeps its secret for its owner only", async () => {
  const { created, file } = await ensure();
  expect(created).toMatch(/^esp_[\w-]{43}$/);
  expect((await readFile(file, "utf8")).trim()).toBe(created);
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect(stored.get(hashSecret(created ?? ""))).toMatchObject({
    tenant: "default",
    scopes: ["read", "write", "admin", "operator"],
  });
  expect(await tenants.get("default")).toMatchObject({ name: "default", weight: 1, limits: {} });
});

test("a later start makes nothing and tells no secret", async () => {
  await ensure();
  expect((await ensure()).created).toBeUndefined();
  expect(stored.size).toBe(1);
});

test("a start that died between file and store uses the secret of the file", async () => {
  await writeFile(join(dataFolder, "admin.key"), "esp_kept\n");
  expect((await ensure()).created).toBe("esp_kept");
  expect([...stored.keys()]).toEqual([hashSecret("esp_kept")]);
});
