import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, test } from "@jest/globals";
import { openStores } from "#stores";
import { FakeModelServer } from "../../../../test/support/fake-model-server.js";
import { checkModelServers } from "./check-model-servers.js";

let server: FakeModelServer;
let folder: string;
let tei: NodeJS.ProcessEnv;
let openai: NodeJS.ProcessEnv;

beforeAll(async () => {
  server = await FakeModelServer.start({ apiKey: "right", model: "e5" });
  folder = await mkdtemp(join(tmpdir(), "espalier-doctor-"));
  const shared = { ESPALIER_DATA: folder, EMBEDDING_API_KEY: "right" };
  tei = { ...shared, EMBEDDING_PROVIDER: "tei", EMBEDDING_URL: server.url };
  openai = { ...shared, EMBEDDING_PROVIDER: "openai", EMBEDDING_URL: `${server.url}/v1`, EMBEDDING_MODEL: "small" };
});
afterEach(() => {
  server.reset();
});
afterAll(async () => {
  await server.stop();
  await rm(folder, { recursive: true, force: true });
});

const detailOf = async (environment: NodeJS.ProcessEnv): Promise<string> => {
  const [found] = await checkModelServers(environment);
  expect(found).toMatchObject({ check: "embedding server", state: "failed" });
  return found!.detail;
};

test("local models and a wrong configuration are findings of other checks", async () => {
  expect(await checkModelServers({})).toEqual([]);
  expect(await checkModelServers({ EMBEDDING_PROVIDER: "openai" })).toEqual([]);
});

test("servers that answer are told with their models and the length of their vectors", async () => {
  const host = new URL(server.url).host;
  const judging = { ENTAILMENT_PROVIDER: "tei", ENTAILMENT_URL: server.url, ENTAILMENT_API_KEY: "right" };
  expect(await checkModelServers({ ...tei, ...judging })).toEqual([
    { check: "embedding server", state: "ok", detail: `tei:${host}/e5 answers vectors of 16 numbers` },
    { check: "entailment server", state: "ok", detail: `tei:${host}/e5 judges` },
  ]);
  expect(await checkModelServers({ ...openai, EMBEDDING_MODELS: "large" })).toMatchObject([
    { check: "embedding server", state: "ok", detail: expect.stringContaining("/small answers") },
    { check: "embedding large", state: "ok", detail: expect.stringContaining("/large answers") },
  ]);
});

test("a server that is away, or at another address, is told with its address", async () => {
  const away = { ...openai, EMBEDDING_URL: "http://user:secret@127.0.0.1:9/v1" };
  const detail = await detailOf(away);
  expect(detail).toMatch(/cannot be reached\. Start it, or mend EMBEDDING_URL\. \(.*http:\/\/127\.0\.0\.1:9\/v1\)/);
  expect(detail).not.toContain("secret");
  expect(await detailOf({ ...openai, EMBEDDING_URL: server.url })).toMatch(/mostly ends in \/v1/);
});

test("a wrong key is told as the key, and is not printed", async () => {
  for (const provider of [tei, openai]) {
    const detail = await detailOf({ ...provider, EMBEDDING_API_KEY: "secret-and-wrong" });
    expect(detail).toMatch(/mend EMBEDDING_API_KEY/);
    expect(detail).not.toContain("secret-and-wrong");
  }
  const judging = { ENTAILMENT_PROVIDER: "tei", ENTAILMENT_URL: server.url };
  expect(await checkModelServers(judging)).toMatchObject([
    { check: "entailment server", state: "failed", detail: expect.stringContaining("mend ENTAILMENT_API_KEY") },
  ]);
});

test("a model that the server does not have is told as the model", async () => {
  expect(await detailOf({ ...tei, EMBEDDING_MODEL: "bge" })).toMatch(/serves e5, expected bge\. Mend EMBEDDING_MODEL/);
  server.misbehave({ kind: "status", status: 404, text: "no such model" });
  expect(await detailOf(openai)).toMatch(/HTTP 404.*Mend EMBEDDING_MODEL/);
});

test("a server that is busy, and one that is out of money, are told apart", async () => {
  server.misbehave({ kind: "status", status: 429 });
  expect(await detailOf(openai)).toMatch(/takes no more at present/);
  server.misbehave({ kind: "status", status: 429, text: "insufficient_quota" });
  expect(await detailOf(openai)).toMatch(/nothing left to spend/);
});

test("vectors of another length than those that are stored are a failure that names both", async () => {
  const model = `openai:${new URL(server.url).host}/small`;
  const stores = openStores({ folder });
  await stores.tree.createMemory("default", {
    ...{ id: "mem_1", name: "m", labels: {}, structure: "artifact", templates: {}, createdAt: 1 },
    ...{ scoring: { scorer: "hybrid", a: 0.4, entailmentTemplate: "{}" }, embeddingModel: model },
  });
  const [scope, id] = [{ tenant: "default", memory: "mem_1" }, "nod_1"];
  const vector = Float32Array.from([1, 0]);
  await stores.tree.commit(scope, {
    ...{ baseRevision: 0, inbox: { job: "job_1", step: "insert" }, message: "insert", author: "a", time: 1 },
    ...{ ends: [], terms: [], result: null },
    states: [
      {
        ...{ id, type: "Day", parentId: null, pathKey: "a0", depth: 1, attributes: { name: "one" }, metadata: {} },
        ...{ text: "one", tokens: 1 },
      },
    ],
    vectors: [{ id, field: "", model, embedding: { vector, windowed: false } }],
  });
  await stores.close();
  expect(await detailOf(openai)).toMatch(/answers vectors of 16 numbers, those stored under this name have 2/);
});
