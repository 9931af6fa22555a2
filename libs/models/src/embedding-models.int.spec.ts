import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { FakeModelServer } from "../../../test/support/fake-model-server.js";
import { openEmbeddingModels } from "./embedding-models.js";
import { checkEntailer, entailerOnDemand, openEntailer } from "./open-entailer.js";

const MINILM = "all-MiniLM-L6-v2@8199be6f699a";
const patience = { timeoutMs: 5_000, retries: 0, pauseMs: 1 };
const options = { modelsFolder: process.env["ESPALIER_MODELS"] ?? ".models", now: () => performance.now(), patience };

let server: FakeModelServer;
beforeAll(async () => {
  server = await FakeModelServer.start({ model: "e5" });
});
afterAll(() => server.stop());

test("the default is the local model of the set-up, identified without loading it", async () => {
  const models = await openEmbeddingModels({ provider: "local" }, options);
  expect(models.default).toBe(MINILM);
  expect(await models.identify("all-MiniLM-L6-v2")).toBe(MINILM);
});

test("a model has one front for all jobs", async () => {
  const models = await openEmbeddingModels({ provider: "local" }, options);
  const [first, second] = await Promise.all([models.get(MINILM), models.get(MINILM)]);
  expect(second).toBe(first);
  const { embeddings } = await first.embed(["hello"]);
  expect(embeddings[0]!.vector).toHaveLength(384);
});

test("a memory of local vectors stays readable after the deployment moved to a server", async () => {
  const url = `${server.url}/v1`;
  const models = await openEmbeddingModels({ provider: "openai", url, model: "small" }, options);
  expect(models.default).toBe(`openai:${new URL(url).host}/small`);
  expect((await models.get(MINILM)).model.id).toBe(MINILM);
});

describe("at an OpenAI-compatible URL", () => {
  const idOf = (model: string): string => `openai:${new URL(server.url).host}/${model}`;
  const open = (nameable?: readonly string[]) =>
    openEmbeddingModels(
      { provider: "openai", url: `${server.url}/v1`, model: "small", ...(nameable !== undefined && { nameable }) },
      options,
    );

  test("any name is a model where the configuration lists none", async () => {
    const models = await open();
    expect(await models.identify("large")).toBe(idOf("large"));
    expect((await models.get(idOf("large"))).model.dimension).toBe(16);
    expect(await models.identify("all-MiniLM-L6-v2")).toBe(MINILM);
  });

  test("a list says what else memories may name, and leaves out local models that it does not have", async () => {
    const models = await open(["large"]);
    for (const name of ["large", idOf("large")]) expect(await models.identify(name)).toBe(idOf("large"));
    expect(await models.identify("small")).toBe(idOf("small"));
    for (const name of ["huge", idOf("huge"), "all-MiniLM-L6-v2"]) {
      await expect(models.identify(name)).rejects.toMatchObject({
        code: "model_unknown",
        message: `This deployment has no embedding model ${name}: memories can have ${idOf("small")}, large.`,
        details: { model: name, models: [idOf("small"), "large"] },
      });
    }
  });

  test("a local model on the list can be named, and the deployment's own need not be on it", async () => {
    expect(await (await open(["all-MiniLM-L6-v2"])).identify(MINILM)).toBe(MINILM);
    expect(await (await open(["small"])).identify("small")).toBe(idOf("small"));
  });

  test("a memory that has a model which nobody may name any more keeps it", async () => {
    const models = await open([]);
    expect((await models.get(idOf("large"))).model.dimension).toBe(16);
  });

  test("a listed name that no model can have stops the start", async () => {
    await expect(open(["large", "tei:elsewhere/e5"])).rejects.toMatchObject({
      code: "model_unknown",
      message: "This deployment has no embedding model tei:elsewhere/e5 that EMBEDDING_MODELS could mean.",
    });
  });
});

test("a TEI server's model is asked for when none is stated", async () => {
  const models = await openEmbeddingModels({ provider: "tei", url: server.url }, options);
  expect(models.default).toBe(`tei:${new URL(server.url).host}/e5`);
  expect(await models.identify("e5")).toBe(models.default);
  expect((await models.get(models.default)).model.dimension).toBe(16);
});

test.each([
  "nonsense",
  "all-MiniLM-L6-v2@000000000000",
  "../.models/all-MiniLM-L6-v2",
  "openai:api.openai.com/small",
  "tei:elsewhere/e5",
])("a model that this deployment does not have is unknown: %s", async (name) => {
  const models = await openEmbeddingModels({ provider: "local" }, options);
  await expect(models.identify(name)).rejects.toMatchObject({ code: "model_unknown", details: { model: name } });
});

test.each(["all-MiniLM-L6-v2@000000000000", "openai:elsewhere/small"])(
  "an id of another deployment is not taken for a model's name at the server: %s",
  async (name) => {
    const config = { provider: "openai", url: `${server.url}/v1`, model: "small" } as const;
    const models = await openEmbeddingModels(config, options);
    await expect(models.get(name)).rejects.toMatchObject({ code: "model_unknown" });
  },
);

test("a model that could not be opened is tried again at the next request", async () => {
  const models = await openEmbeddingModels({ provider: "openai", url: `${server.url}/v1`, model: "late" }, options);
  server.misbehave({ kind: "status", status: 503 });
  await expect(models.get(models.default)).rejects.toMatchObject({ code: "model_unavailable" });
  expect((await models.get(models.default)).model.dimension).toBe(16);
});

test("without its folder a local model stops the start with what to do", async () => {
  await expect(openEmbeddingModels({ provider: "local", model: "absent" }, options)).rejects.toMatchObject({
    code: "model_unusable",
    message: expect.stringContaining("put it there, or name another folder"),
  });
});

test("calls and lookups are heard by name", async () => {
  const heard: string[] = [];
  const models = await openEmbeddingModels(
    { provider: "tei", url: server.url },
    {
      ...options,
      onBatch: ({ model, kind, items }) => heard.push(`${kind} ${model.split("/")[1] ?? ""} ${items}`),
      onLookup: (cache, hits, misses) => heard.push(`${cache} ${hits} ${misses}`),
    },
  );
  const embedder = await models.get(models.default);
  await embedder.embed(["one", "two"]);
  await embedder.embed(["one"]);
  expect(heard).toEqual(["embedding_process 0 2", "embedding e5 2", "embedding_process 1 0"]);
});

test("the entailment model is a folder or a server, and nothing else", async () => {
  const local = await openEntailer({ provider: "local", model: "test/fixtures/tiny-nli" }, options);
  const { values } = await local.entail(["poster session"], "the poster session", { template: "{}" });
  expect(values[0]).toBeCloseTo(0.5, 6);
  const { values: served } = await (
    await openEntailer({ provider: "tei", url: server.url }, options)
  ).entail(["poster session"], "poster", { template: "{}" });
  expect(served[0]).toBeCloseTo(1, 6);
  await expect(openEntailer({ provider: "openai", url: server.url }, options)).rejects.toMatchObject({
    code: "scorer_unavailable",
  });
});

test("a folder without an entailment model is refused before anything is loaded, a server is not asked", async () => {
  const check = (config: Parameters<typeof checkEntailer>[0]): Promise<void> => checkEntailer(config, options);
  await expect(check({ provider: "local", model: "/nope" })).rejects.toMatchObject({
    code: "model_unusable",
    message: expect.stringContaining("/nope lacks a model"),
  });
  await expect(check({ provider: "local", model: "all-MiniLM-L6-v2" })).rejects.toMatchObject({
    message: expect.stringContaining("lacks a config.json with id2label"),
  });
  await check({ provider: "local", model: "test/fixtures/tiny-nli" });
  await check({ provider: "tei", url: "http://127.0.0.1:9" });
});

test("an entailment server that is away when a process starts is asked again when the model is wanted again", async () => {
  const away = entailerOnDemand({ provider: "tei", url: "http://127.0.0.1:9" }, options);
  await expect(away.get()).rejects.toMatchObject({ code: "model_unavailable" });
  await expect(away.get()).rejects.toMatchObject({ code: "model_unavailable" });
  const there = entailerOnDemand({ provider: "tei", url: server.url }, options);
  expect(await there.get()).toBe(await there.get());
});

test("models that are closed are not opened again", async () => {
  const models = await openEmbeddingModels({ provider: "local" }, options);
  const { model } = await models.get(models.default);
  await models.close();
  await expect(models.get(models.default)).rejects.toMatchObject({ code: "model_unavailable" });
  await expect(model.embed(["a conference"])).rejects.toMatchObject({ code: "model_unavailable" });
  const entailer = entailerOnDemand({ provider: "local", model: "test/fixtures/tiny-nli" }, options);
  await entailer.get();
  await entailer.close();
  await expect(entailer.get()).rejects.toMatchObject({ code: "model_unavailable" });
});

test("models that are just being opened do not hold up who closes them, and are not had", async () => {
  const models = await openEmbeddingModels({ provider: "local" }, options);
  const opening = models.get(models.default);
  await models.close();
  await expect(opening).rejects.toMatchObject({ code: "model_unavailable" });
  const entailer = entailerOnDemand({ provider: "local", model: "test/fixtures/tiny-nli" }, options);
  const entailing = entailer.get();
  await entailer.close();
  await expect(entailing).rejects.toMatchObject({ code: "model_unavailable" });
});
