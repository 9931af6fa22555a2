import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { openEmbeddingModels } from "#models";
import { startWorker } from "../../apps/worker/src/start-worker.js";
import { openApiBench, type ApiBench } from "../support/api-bench.js";
import { FakeModelServer } from "../support/fake-model-server.js";
import { until } from "../support/until.js";

let model: FakeModelServer;
let bench: ApiBench;
beforeAll(async () => {
  model = await FakeModelServer.start();
  bench = await openApiBench({
    environment: {
      ...{ EMBEDDING_PROVIDER: "openai", EMBEDDING_URL: `${model.url}/v1`, EMBEDDING_MODEL: "fake-model" },
      ...{ LOG_LEVEL: "silent" },
    },
    models: (config) =>
      openEmbeddingModels(config.embedding, { modelsFolder: config.modelsFolder, now: () => Date.now() }),
    startWorker: (config, jobSettings) => startWorker(config, { jobSettings, roles: ["query", "insert"] }),
  });
});
afterAll(async () => {
  await bench.close();
  await model.stop();
});

interface Counted {
  readonly nodes: number;
  readonly bytes: number;
  readonly modelTokens: number;
}

/** What was used yesterday and today, for a test that runs at midnight. */
async function used(key: string): Promise<Counted> {
  const { body } = await bench.client.call("GET", "/v1/admin/usage?limit=2", { key });
  const [one, other] = body.items as unknown as readonly Counted[];
  const sum = (name: keyof Counted): number => (one?.[name] ?? 0) + (other?.[name] ?? 0);
  return { nodes: sum("nodes"), bytes: sum("bytes"), modelTokens: sum("modelTokens") };
}

test("an insert counts its nodes, bytes and tokens; the same texts again cost no tokens, and what finds no room is refused and costs nothing", async () => {
  const tenant = "ten_metered";
  await bench.stores.tenants.create({ id: tenant, name: tenant, createdAt: 0, weight: 1, limits: { nodes: 5 } });
  const key = await bench.key({ tenant });
  const memory = await bench.client.memory({}, key);
  const tree = { tree: { type: "Trip", children: [{ type: "Day", attributes: { name: "a long day in San Diego" } }] } };
  expect((await bench.client.insert(memory, tree, { key })).status).toBe(200);
  const first = await until(async () => {
    const counted = await used(key);
    return counted.modelTokens > 0 ? counted : undefined;
  });
  const { bytes } = await bench.stores.tree.getMemory({ tenant, memory });
  expect(first).toMatchObject({ nodes: 2, bytes });

  expect((await bench.client.insert(memory, tree, { key })).status).toBe(200);
  expect(await used(key)).toEqual({ nodes: 4, bytes: 2 * bytes, modelTokens: first.modelTokens });

  const other = {
    tree: [
      { type: "Day", attributes: { name: "one" } },
      { type: "Day", attributes: { name: "two" } },
    ],
  };
  const refused = await bench.client.insert(memory, other, { key });
  expect(refused.status).toBe(429);
  expect(refused.body).toMatchObject({ code: "quota_exceeded", limit: "nodes", value: 5, current: 4 });
  const failed = await bench.client.call("GET", `/v1/jobs/${refused.body.job}`, { key });
  expect(failed.body).toMatchObject({ state: "failed", attempts: 1 });
  expect(await used(key)).toEqual({ nodes: 4, bytes: 2 * bytes, modelTokens: first.modelTokens });

  await bench.stores.tenants.patch(tenant, { limits: { nodes: 6 } });
  let job = refused.body.job;
  // The worker remembers limits for a moment.
  await until(async () => {
    const retried = await bench.client.call("POST", `/v1/jobs/${job}/retry`, { key });
    expect(retried.status).toBe(202);
    job = retried.body.id;
    const state = await until(async () => {
      const { body } = await bench.client.call("GET", `/v1/jobs/${job}`, { key });
      return ["completed", "failed"].find((end) => end === body.state);
    });
    return state === "completed" ? true : undefined;
  });
  expect((await used(key)).nodes).toBe(6);
});
