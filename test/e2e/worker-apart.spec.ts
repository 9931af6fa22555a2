import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "@jest/globals";
import { parseConfig, randomId, systemClock, type MemoryScope } from "#core";
import {
  createBackground,
  createJobClient,
  type Background,
  type JobClient,
  type JobKind,
  type JobRecord,
  type JobSettings,
} from "#jobs";
import { inMemoryApartStores, type ApartStores } from "#stores";
import { startWorker, type RunningWorker } from "../../apps/worker/src/start-worker.js";
import { FakeModelServer } from "../support/fake-model-server.js";
import { startRedis, type TestRedis } from "../support/redis.js";
import { until } from "../support/until.js";

/** Workers of several roles over stores whose vectors lie apart, with a real Redis and a real HTTP model server. */
let redis: TestRedis;
let model: FakeModelServer;
let stores: ApartStores;
let client: JobClient & { close(): Promise<void> };
let background: Background;
let scope: MemoryScope;
let modelId: string;
let settings: Partial<JobSettings>;
const workers: RunningWorker[] = [];

const LOOPS = { relayMs: 50, heldMs: 50, heldRestMs: 50, sweepTurnMs: 50, sweepEveryMs: 3_600_000 };

beforeAll(async () => {
  redis = await startRedis();
  model = await FakeModelServer.start({ maxBatch: 32 });
  modelId = `openai:${new URL(model.url).host}/fake-model`;
});

beforeEach(async () => {
  settings = { prefix: `apart${randomId("key").slice(-10)}` };
  stores = inMemoryApartStores(systemClock);
  const shared = { redis: redis.address, payloadStore: stores.blobs, clock: systemClock, settings };
  client = createJobClient({ ...shared, ids: randomId });
  background = createBackground(shared);
  scope = await createMemory("conversation");
});

afterEach(async () => {
  model.reset();
  await Promise.all(workers.splice(0).map((worker) => worker.close()));
  await client.close();
  await background.close();
});

afterAll(() => Promise.all([redis.close(), model.stop()]));

async function createMemory(structure: "artifact" | "conversation", tenant = "default"): Promise<MemoryScope> {
  const memory = await stores.tree.createMemory(tenant, {
    ...{ id: randomId("mem"), name: "apart", labels: {}, structure, templates: {} },
    scoring: { scorer: "similarity", a: 0.4, entailmentTemplate: "This is about {}." },
    ...{ embeddingModel: modelId, createdAt: Date.now() },
  });
  return { tenant, memory: memory.id };
}

async function start(...roles: JobKind[]): Promise<RunningWorker> {
  const environment = {
    ...{ EMBEDDING_PROVIDER: "openai", EMBEDDING_URL: `${model.url}/v1`, EMBEDDING_MODEL: "fake-model" },
    ...{ REDIS_URL: `unix://${redis.address}`, ESPALIER_SHUTDOWN_SECONDS: "1", LOG_LEVEL: "silent" },
  };
  const worker = await startWorker(parseConfig(environment), {
    ...{ roles, jobSettings: settings, loopTimes: LOOPS },
    // Shared by the workers of a test: none of them closes them.
    openStores: () => ({ ...stores, close: async () => undefined }),
  });
  workers.push(worker);
  return worker;
}

const insert = (names: readonly string[], into = scope): Promise<JobRecord> =>
  client.submit({
    ...{ kind: "insert", ...into },
    payload: { tree: names.map((name) => ({ type: "Day", attributes: { name } })) },
  });

const inState = (job: JobRecord, state: JobRecord["state"]): Promise<JobRecord> =>
  until(async () => {
    const record = await client.get(job.tenant, job.id);
    return record.state === state ? record : undefined;
  });

const stored = async (of: MemoryScope): Promise<number> => (await stores.vectors.fingerprint(of, modelId)).count;

test("an insert commits in one process and is completed by the score workers of another", async () => {
  await start("insert");
  const job = await insert(["beach", "museum", "concert"]);
  await until(async () => ((await client.get("default", job.id)).progress.total === 3 ? true : undefined));
  expect(await client.get("default", job.id)).toMatchObject({ state: "active", progress: { done: 0, total: 3 } });
  expect(await client.counts()).toMatchObject({ insert: { active: 0, waiting: 0 } });
  expect((await stores.tree.getMemory(scope)).nodes).toBe(3);
  await expect(client.cancel("default", job.id)).rejects.toMatchObject({ code: "job_finished" });
  expect(model.calls.filter(({ body }) => JSON.stringify(body).includes("beach"))).toEqual([]);
  await start("score");
  expect(await inState(job, "completed")).toMatchObject({ result: { revision: 1, inserted: 3 }, attempts: 1 });
  expect(await stored(scope)).toBe(3);
  expect(await background.held.take(10)).toEqual([]);
});

test("an insert that is waited for comes back when its vectors are stored; one without texts at once", async () => {
  await start("insert");
  const nothing = { kind: "insert", ...scope, payload: { tree: { type: "Gap" } } } as const;
  expect(await client.submitAndWait(nothing, 10_000)).toMatchObject({ state: "completed" });
  await start("score");
  const request = { kind: "insert", ...scope, payload: { tree: { type: "Day", attributes: { name: "x" } } } } as const;
  const record = await client.submitAndWait(request, 10_000);
  expect(record).toMatchObject({ state: "completed", result: { inserted: 1 }, progress: { done: 1, total: 1 } });
  expect(await stored(scope)).toBe(1);
});

test("a model server that is down holds neither slots nor memories, queries go on, and nothing is lost", async () => {
  await start("insert", "score", "query");
  const jobs = [await inState(await insert(["first", "last"]), "completed")];
  model.reset();
  model.alwaysMisbehave({ kind: "status", status: 429, headers: { "retry-after": "0" } });
  for (let turn = 0; turn < 5; turn += 1) jobs.push(await insert([`day ${turn}`, `evening ${turn}`]));
  await until(async () => ((await stores.tree.getMemory(scope)).nodes === 12 ? true : undefined));
  const ask = { kind: "query", ...scope, payload: { query: "//Day[2]" } } as const;
  expect(await client.submitAndWait(ask, 10_000)).toMatchObject({ state: "completed" });
  await until(() => (model.calls.length > 0 ? true : undefined));
  for (const job of jobs.slice(1)) expect(await client.get("default", job.id)).toMatchObject({ state: "active" });
  expect(await client.counts()).toMatchObject({ insert: { active: 0, waiting: 0, failed: 0 } });
  model.reset();
  for (const job of jobs) await inState(job, "completed");
  expect(await stored(scope)).toBe(12);
});

test("an artifact's fields are tracked and come to the score workers with everything else", async () => {
  const artifact = await createMemory("artifact", "ten_other");
  await start("insert", "score");
  await inState(await insert(["beach", "museum"], artifact), "completed");
  await until(async () => ((await stored(artifact)) === 4 ? true : undefined));
  expect(await stores.apart.outbox.tracked(artifact, modelId)).toEqual(["", "name"]);
});

test("points that were lost, planted or are stale are counted, and repaired by a job", async () => {
  await start("insert", "score");
  const job = await inState(await insert(["beach", "museum", "concert", "dinner"]), "completed");
  const { roots } = job.result as { readonly roots: readonly string[] };
  const of = (id: string) => ({ id, born: 1, field: "" });
  const embedding = { vector: Float32Array.from(model.vectorOf("foreign")), windowed: false };
  await stores.apart.points.remove(scope, modelId, [of(roots[0]!), of(roots[1]!), of(roots[2]!)]);
  stores.plant(scope, { ...of(roots[2]!), model: modelId, embedding, died: 1 });
  stores.plant(scope, { ...of("nod_unknown"), model: modelId, embedding });
  await start("maintain");
  const repair = await until(async () => (await client.list("default", { kind: "maintain", limit: 1 }))[0]);
  expect(await inState(repair, "completed")).toMatchObject({
    result: { missing: 2, foreign: 1, stale: 1, repaired: 4 },
  });
  await until(async () => ((await stored(scope)) === 4 ? true : undefined));
  expect(await background.sweeps.state()).toMatchObject({ drift: 0 });
  await background.sweeps.ask();
  const { askedAt } = await background.sweeps.state();
  await until(async () => {
    const { finishedAt = 0, startedAt = 0 } = await background.sweeps.state();
    return startedAt >= askedAt! && finishedAt >= startedAt ? true : undefined;
  });
  expect(await background.sweeps.state()).toMatchObject({ drift: 0, memories: 0 });
  expect(await client.list("default", { kind: "maintain", limit: 10 })).toHaveLength(1);
});
