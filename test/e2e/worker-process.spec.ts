import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, afterEach, beforeAll, expect, test } from "@jest/globals";
import { randomId, systemClock, type MemoryScope } from "#core";
import {
  createJobClient,
  createSecretBox,
  createWebhooks,
  END_STATES,
  JOB_KINDS,
  requeueActive,
  type JobClient,
  type JobRecord,
} from "#jobs";
import { openStores, type Stores } from "#stores";
import { askMetrics } from "#telemetry";
import { FakeModelServer } from "../support/fake-model-server.js";
import { startRedis, type TestRedis } from "../support/redis.js";
import { until } from "../support/until.js";
import { answers, startReceiver } from "../support/webhook-receiver.js";
import { setUp, startWorkerProcess, type WorkerProcess } from "../support/worker.js";

const PROGRAM = resolve(import.meta.dirname, "../../dist/apps/worker/src/main.js");

let redis: TestRedis;
let model: FakeModelServer;
let stores: Stores;
let client: JobClient;
let folder: string;
let scope: MemoryScope;
let environment: NodeJS.ProcessEnv;
const workers: WorkerProcess[] = [];

beforeAll(async () => {
  redis = await startRedis();
  model = await FakeModelServer.start();
  folder = await mkdtemp(join(tmpdir(), "espalier-worker-"));
  environment = {
    ...{ EMBEDDING_PROVIDER: "openai", EMBEDDING_URL: `${model.url}/v1`, EMBEDDING_MODEL: "fake-model" },
    ESPALIER_SHUTDOWN_SECONDS: "2",
    ...{ ESPALIER_WEBHOOK_NETWORKS: "127.0.0.0/8", ESPALIER_WEBHOOK_HTTP: "allowed" },
  };
  await setUp(environment);
  stores = openStores({ folder, clock: systemClock });
  client = createJobClient({ redis: redis.address, payloadStore: stores.blobs, clock: systemClock, ids: randomId });
  scope = await newMemory();
}, 60_000);

afterEach(async () => {
  model.reset();
  await Promise.all(workers.splice(0).map((worker) => worker.kill()));
});

afterAll(async () => {
  await client.close();
  await stores.close();
  await Promise.all([redis.close(), model.stop(), rm(folder, { recursive: true, force: true })]);
});

async function start(roles = "all"): Promise<WorkerProcess> {
  const worker = await startWorkerProcess({ redis: redis.address, dataFolder: folder, roles, environment });
  workers.push(worker);
  return worker;
}

async function newMemory(): Promise<MemoryScope> {
  const { id } = await stores.tree.createMemory("default", {
    ...{ id: randomId("mem"), name: "worker", labels: {}, structure: "artifact", templates: {} },
    scoring: { scorer: "hybrid", a: 0.4, entailmentTemplate: "This is about {}." },
    ...{ embeddingModel: `openai:${new URL(model.url).host}/fake-model`, createdAt: Date.now() },
  });
  return { tenant: "default", memory: id };
}

const insert = (name: string, into = scope): Promise<JobRecord> =>
  client.submit({ kind: "insert", ...into, payload: { tree: { type: "Day", attributes: { name } } } });

const inState = (id: string, state: JobRecord["state"]): Promise<JobRecord> =>
  until(async () => {
    const record = await client.get("default", id);
    return record.state === state ? record : undefined;
  });

/** What the program writes to stderr when it does not start, and its exit code. */
const refused = (args: readonly string[], variables: NodeJS.ProcessEnv): Promise<{ code: unknown; said: string }> => {
  const { promise, resolve: end } = Promise.withResolvers<{ code: unknown; said: string }>();
  const quiet = { REDIS_URL: "", NEO4J_URI: "", QDRANT_URL: "", NODE_OPTIONS: "" };
  const options = { env: { ...process.env, ...quiet, ...environment, ESPALIER_DATA: folder, ...variables } };
  execFile(process.execPath, ["--no-warnings", PROGRAM, ...args], options, (error, _stdout, said) => {
    end({ code: error?.code ?? 0, said });
  });
  return promise;
};

test("a worker without REDIS_URL, or with a role that is none, says so and does not start", async () => {
  const alone = await refused([], {});
  expect(alone).toMatchObject({ code: 1, said: expect.stringContaining("REDIS_URL is needed") });
  const cook = await refused(["--roles", "query,cook"], { REDIS_URL: `unix://${redis.address}` });
  expect(cook).toMatchObject({ code: 1, said: expect.stringContaining("No such role: cook") });
});

test("a worker reads variables from files, and lists a file that it cannot read with the other problems", async () => {
  const file = join(folder, "log-level");
  await writeFile(file, "loud\n");
  const { code, said } = await refused([], {
    LOG_LEVEL: "",
    LOG_LEVEL_FILE: file,
    NEO4J_PASSWORD_FILE: join(folder, "none"),
  });
  expect(code).toBe(1);
  expect(said).toContain("LOG_LEVEL ");
  expect(said).toContain(`NEO4J_PASSWORD_FILE names a file that is empty or cannot be read: ${join(folder, "none")}`);
});

test("an insert, its follow-up in the batch lane and a query run, and the metrics tell of them", async () => {
  const worker = await start();
  const inserted = await inState((await insert("the opening day")).id, "completed");
  expect(inserted).toMatchObject({ attempts: 1, result: { inserted: 1 } });
  const score = await until(async () => (await client.list("default", { kind: "score", limit: 1 }))[0]);
  expect(await inState(score.id, "completed")).toMatchObject({ result: { fields: ["name"], embedded: 1 } });
  const record = await client.submitAndWait(
    { kind: "query", ...scope, payload: { query: '//Day[node~="opening"]' } },
    10_000,
  );
  expect(record).toMatchObject({
    state: "completed",
    result: {
      job: record.id,
      rows: [{ type: "Day", attributes: { name: "the opening day" } }],
      timings: { queuedMs: expect.any(Number), runMs: expect.any(Number) },
    },
  });
  const snapshot = await askMetrics(worker.channel, 5_000);
  const total = (name: string): number =>
    snapshot.find((metric) => metric.name === name)!.values.reduce((sum, { value }) => sum + value, 0);
  expect(total("espalier_jobs_total")).toBe(3);
  expect(total("espalier_score_batch_items")).toBeGreaterThan(0);
  expect(total("espalier_store_seconds")).toBeGreaterThan(0);
});

test("a worker with some roles leaves the other queues alone", async () => {
  await start("query");
  const { id } = await insert("left alone");
  const record = await client.submitAndWait({ kind: "query", ...scope, payload: { query: "//Day" } }, 10_000);
  expect(record.state).toBe("completed");
  expect(await client.get("default", id)).toMatchObject({ state: "queued", attempts: 0 });
  await client.cancel("default", id);
});

test("SIGTERM lets the running job end, then the worker ends well", async () => {
  const worker = await start();
  const { promise: release, resolve: go } = Promise.withResolvers<undefined>();
  model.misbehave({ kind: "slow", release });
  const { id } = await insert("drained");
  await until(() => (model.calls.length > 0 ? true : undefined));
  const stopped = worker.stop();
  go(undefined);
  expect(await stopped).toBe(0);
  expect(await client.get("default", id)).toMatchObject({ state: "completed", attempts: 1 });
});

test("a job that does not end before the stop's time is over is given back, and runs in the next worker", async () => {
  const worker = await start();
  model.alwaysMisbehave({ kind: "hang" });
  const { id } = await insert("given back");
  await until(() => (model.calls.length > 0 ? true : undefined));
  const begun = Date.now();
  expect(await worker.stop()).toBe(0);
  expect(Date.now() - begun).toBeLessThan(4_000);
  expect(await client.get("default", id)).toMatchObject({ state: "queued" });
  expect(await client.counts()).toMatchObject({ insert: { active: 0, waiting: 1 } });
  model.reset();
  await start();
  expect(await inState(id, "completed")).toMatchObject({ result: { inserted: 1 } });
});

test("cancelling a running insert ends its call of the model, and nothing of it is stored", async () => {
  await start();
  const own = await newMemory();
  const said = "cancelled while it runs";
  model.misbehaveWhen((texts) => (texts.some((text) => text.includes(said)) ? { kind: "hang" } : undefined));
  const { id } = await insert(said, own);
  const call = await until(() => model.calls.find(({ body }) => JSON.stringify(body).includes(said)));
  await client.cancel("default", id);
  expect(await call.aborted).toBe(true);
  expect(await inState(id, "cancelled")).toMatchObject({ error: { code: "cancelled" }, attempts: 1 });
  expect(await stores.tree.getMemory(own)).toMatchObject({ revision: 0, nodes: 0 });
});

test("a worker whose parent is gone ends at once", async () => {
  const worker = await start();
  const ended = once(worker.channel, "exit");
  worker.channel.disconnect();
  expect((await ended)[0]).toBe(1);
});

test("a worker that is killed after a webhook was sent and before that is recorded: it is sent again under the same id", async () => {
  const receiver = await startReceiver();
  const webhooks = createWebhooks({ redis: redis.address, clock: systemClock, box: createSecretBox() });
  await webhooks.create("default", "whk_killed", { url: receiver.url, events: END_STATES, kinds: JOB_KINDS });
  receiver.behave(() => undefined);
  const { id } = await insert("cancelled");
  await client.cancel("default", id);
  const worker = await start("maintain");
  await until(() => receiver.received[0]);
  await worker.kill();
  receiver.behave(answers(204));
  // As the supervisor of its only worker does; without it the lock has to expire.
  await requeueActive(redis.address, { roles: ["maintain"] });
  await start("maintain");
  const delivered = await until(
    async () => (await webhooks.deliveries("default", "whk_killed", { limit: 1, state: "delivered" }))[0],
  );
  expect(delivered).toMatchObject({ job: id, event: "cancelled", attempts: 2 });
  expect(receiver.received.map(({ headers }) => headers["webhook-id"])).toEqual([delivered.id, delivered.id]);
  await webhooks.remove("default", "whk_killed");
  await webhooks.close();
  receiver.close();
});
