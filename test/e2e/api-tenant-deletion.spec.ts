/** The end of a tenant in the embedded profile: real SQLite, Redis, worker and model. */
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { Redis } from "ioredis";
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { openEmbeddingModels } from "#models";
import { startWorker } from "../../apps/worker/src/start-worker.js";
import { openApiBench, type ApiBench } from "../support/api-bench.js";
import { ApiClient } from "../support/api-client.js";
import { rowsIn, tracesIn, tracesInRedis } from "../support/traces.js";
import { until } from "../support/until.js";

const PATIENCE_MS = 60_000;

let bench: ApiBench;
let folder: string;
beforeAll(async () => {
  bench = await openApiBench({
    startWorker: (config, jobSettings) => {
      folder = config.dataFolder;
      return startWorker(config, { jobSettings, loopTimes: { deletionMs: 100 } });
    },
    models: (config) =>
      openEmbeddingModels(config.embedding, { modelsFolder: config.modelsFolder, now: () => Date.now() }),
  });
}, 120_000);
afterAll(() => bench.close());

const files = (): readonly string[] => ["espalier.db", "espalier-cache.db"].map((name) => join(folder, name));
const rows = (): unknown => files().map((file) => rowsIn(file));

/** A tenant with a memory, vectors, caches, jobs of every end, keys and kept answers. */
async function populate(name: string): Promise<{ readonly id: string; readonly client: ApiClient }> {
  const { id } = (await bench.client.call("POST", "/v1/admin/tenants", { body: { name, weight: 2 } })).body;
  const key = await bench.client.call("POST", "/v1/admin/keys", {
    body: { scopes: ["read", "write", "admin"], tenant: id },
  });
  const client = new ApiClient(bench.api.url, key.body.key);
  for (let index = 0; index < 2; index += 1) {
    const memory = await client.memory({ name, labels: { index: String(index) } });
    const children = [{ type: "Day", attributes: { text: `${name} has a keynote about roots ${index}` } }];
    const inserted = await client.insert(memory, { tree: { type: "Trip", children } });
    expect(inserted.body.state).toBe("completed");
    expect((await client.query(memory, { query: '//Day[node~="conference"]' })).status).toBe(200);
    const failed = await client.query(memory, { query: "//Nothing" });
    expect(failed.status).toBe(422);
    const under = { headers: { "idempotency-key": randomUUID(), prefer: "wait=0" } };
    await client.call("POST", `/v1/memories/${memory}/insert`, { body: { tree: { type: "Day" } }, ...under });
  }
  await until(async () => {
    const busy = await client.call("GET", "/v1/jobs?state=queued&state=active");
    const { items } = busy.status === 200 ? busy.body : (await client.call("GET", "/v1/jobs")).body;
    return items.every(({ state }) => state !== "queued" && state !== "active") || undefined;
  }, PATIENCE_MS);
  await spentTokensAreWritten(client);
  return { id, client };
}

/** Workers write what models spent up to a second later; nothing comes any more when twice that time brought nothing. */
async function spentTokensAreWritten(client: ApiClient): Promise<void> {
  let last = { text: "", since: Date.now() };
  await until(async () => {
    const { text } = await client.call("GET", "/v1/admin/usage");
    if (text !== last.text) last = { text, since: Date.now() };
    return Date.now() - last.since > 2_000 || undefined;
  }, PATIENCE_MS);
}

test(
  "nothing of a deleted tenant is left in any table or key, and others keep all of theirs",
  async () => {
    const kept = await populate("kept");
    const before = rows();
    const gone = await populate("gone");
    expect(rows()).not.toEqual(before);
    const headers = { "idempotency-key": randomUUID() };
    const path = `/v1/admin/tenants/${gone.id}`;
    const deleted = await bench.client.call("DELETE", path, { headers });
    expect(deleted.status).toBe(200);
    expect(deleted.body).toMatchObject({ id: gone.id, state: "deleted" });
    const counts = deleted.body["deleted"] as Record<string, number>;
    expect(counts).toMatchObject({ memories: 2, nodes: 6, jobs: 0, keys: 1 });
    for (const kind of ["vectors", "cached", "records", "revisions"]) expect(counts[kind]).toBeGreaterThan(0);
    expect(rows()).toEqual(before);
    for (const file of files()) expect(tracesIn(file, gone.id)).toEqual([]);
    const redis = new Redis({ path: bench.redis.address });
    // The operator's own kept answer names the tenant: a repeat of the request is told what became of it.
    const traces = (await tracesInRedis(redis, gone.id)).filter((key) => !key.includes("{default}:idempotency:"));
    redis.disconnect();
    expect(traces).toEqual([]);
    expect((await gone.client.call("GET", "/v1/memories")).status).toBe(401);
    expect((await bench.client.call("GET", path)).status).toBe(404);
    expect((await bench.client.call("DELETE", path, { headers })).text).toBe(deleted.text);
    expect((await bench.client.call("DELETE", path)).status).toBe(404);
    expect((await kept.client.call("GET", "/v1/memories")).body.items).toHaveLength(2);
  },
  PATIENCE_MS,
);

test(
  "a deletion whose process died is finished by a worker; meanwhile nobody is let in",
  async () => {
    const { id, client } = await populate("cut short");
    await bench.stores.tenants.patch(id, { deletedAt: 1 });
    await until(async () => (await client.call("GET", "/v1/memories")).status === 401 || undefined);
    await until(async () => ((await bench.stores.tenants.get(id)) === undefined ? true : undefined), PATIENCE_MS);
    for (const file of files()) expect(tracesIn(file, id)).toEqual([]);
    const redis = new Redis({ path: bench.redis.address });
    expect((await tracesInRedis(redis, id)).filter((key) => !key.includes("{default}:idempotency:"))).toEqual([]);
    redis.disconnect();
  },
  PATIENCE_MS,
);

test("the first tenant cannot be deleted", async () => {
  const answer = await bench.client.call("DELETE", "/v1/admin/tenants/default");
  expect([answer.status, answer.body.code]).toEqual([409, "tenant_protected"]);
  expect((await bench.client.call("GET", "/v1/memories")).status).toBe(200);
});
