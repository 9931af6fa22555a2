import { afterAll, afterEach, beforeAll, expect, test } from "@jest/globals";
import type { Redis } from "ioredis";
import { setImmediate } from "node:timers/promises";
import { EspalierError, isId, LIMITS } from "#core";
import { queueJobId } from "./keys.js";
import { openJobBench, request, until, untilState, type JobBench } from "./testing/job-bench.js";

let bench: JobBench;
beforeAll(async () => {
  bench = await openJobBench();
});
afterEach(() => bench.reset());
afterAll(() => bench.close());

const echo = { query: async (payload: unknown) => ({ echo: payload }) };

test("a job that is waited for comes back with its result, and stays readable", async () => {
  await bench.workers(echo);
  const client = bench.client();
  const record = await client.submitAndWait(request("query", { query: "//A" }), 5_000);
  expect(record).toMatchObject({
    state: "completed",
    attempts: 1,
    result: { echo: { query: "//A" } },
    memory: "mem_1",
  });
  expect(isId("job", record.id)).toBe(true);
  expect(record.finishedAt).toBeGreaterThanOrEqual(record.startedAt ?? Infinity);
  expect(await client.get("ten_a", record.id)).toEqual(record);
});

test("a wait that runs out answers the job as it is, and the job goes on", async () => {
  const { promise, resolve } = Promise.withResolvers<string>();
  await bench.workers({ query: () => promise });
  const client = bench.client();
  const waited = await client.submitAndWait(request("query"), 30);
  expect(["queued", "active"]).toContain(waited.state);
  await untilState(client, waited.id, "active");
  resolve("late");
  expect(await untilState(client, waited.id, "completed")).toMatchObject({ result: "late", attempts: 1 });
});

test("a waiter whose caller went away stops waiting at once", async () => {
  const client = bench.client();
  const record = await client.submitAndWait(request("query"), 60_000, AbortSignal.timeout(20));
  expect(record.state).toBe("queued");
});

test("a lost wake-up only costs a poll", async () => {
  const client = bench.client();
  const waiting = client.submitAndWait(request("query"), 10_000);
  const bare = bench.bare();
  const key = await until(async () => (await bare.keys(`${bench.settings.prefix}:*:status:*`))[0]);
  await bare.hdel(key, "watch");
  await bench.workers(echo);
  expect(await waiting).toMatchObject({ state: "completed" });
});

test("a job that ended and was dropped unheard is not waited for", async () => {
  const client = bench.client();
  const waiting = client.submitAndWait(request("query"), 60_000);
  const bare = bench.bare();
  const key = await until(async () => (await bare.keys(`${bench.settings.prefix}:*:status:*`))[0]);
  await bare.del(key);
  await expect(waiting).rejects.toMatchObject({ code: "job_not_found" });
});

test("another tenant's job is as unknown as one that never was", async () => {
  const client = bench.client();
  const record = await client.submit(request("query"));
  const unknown = { code: "job_not_found" };
  await expect(client.get("ten_b", record.id)).rejects.toMatchObject(unknown);
  await expect(client.cancel("ten_b", record.id)).rejects.toMatchObject(unknown);
  const events = client.events("ten_b", record.id, { signal: AbortSignal.timeout(1_000) });
  await expect(events[Symbol.asyncIterator]().next()).rejects.toMatchObject(unknown);
  expect(await client.list("ten_b", { limit: 10 })).toEqual([]);
});

test("the list is the tenant's, newest first, filtered, and goes on after an id", async () => {
  await bench.workers(echo);
  const client = bench.client();
  const ids: string[] = [];
  for (const kind of ["query", "insert", "query"] as const) {
    const record = await client.submit(request(kind, {}, { memory: kind === "insert" ? "mem_2" : "mem_1" }));
    ids.unshift(record.id);
  }
  for (const id of [ids[0]!, ids[2]!]) await untilState(client, id, "completed");
  const listed = async (query: object): Promise<string[]> =>
    (await client.list("ten_a", { limit: 10, ...query })).map(({ id }) => id);
  expect(await listed({})).toEqual(ids);
  expect(await listed({ kind: "insert" })).toEqual([ids[1]]);
  expect(await listed({ memory: "mem_1" })).toEqual([ids[0], ids[2]]);
  expect(await listed({ states: ["completed"] })).toEqual([ids[0], ids[2]]);
  expect(await listed({ states: ["completed", "queued", "active"] })).toEqual(ids);
  expect(await listed({ limit: 1 })).toEqual([ids[0]]);
  expect(await listed({ after: ids[0] })).toEqual([ids[1], ids[2]]);
  const [, middle] = await client.list("ten_a", { limit: 10 });
  const time = middle!.createdAt;
  const within = await client.list("ten_a", { limit: 10, createdFrom: time, createdBefore: time + 1 });
  expect(within.map(({ id }) => id)).toContain(ids[1]);
  expect(within.every(({ createdAt }) => createdAt === time)).toBe(true);
  expect(await listed({ createdBefore: time - 60_000 })).toEqual([]);
  expect((await client.list("ten_a", { limit: 1 }))[0]).not.toHaveProperty("result");
});

test("a list longer than one read is whole, and forgets jobs whose status has expired", async () => {
  const client = bench.client();
  const records = await Promise.all(Array.from({ length: 150 }, () => client.submit(request("query"))));
  const bare = bench.bare();
  const [gone] = records;
  await bare.del(`${bench.settings.prefix}:{ten_a}:status:${gone!.id}`);
  expect(await client.list("ten_a", { limit: 1_000 })).toHaveLength(149);
  expect(await bare.zcard(`${bench.settings.prefix}:{ten_a}:jobs`)).toBe(149);
});

test("a tenant's list is bounded: the oldest job leaves first", async () => {
  const client = bench.client({ jobsPerTenant: 2 });
  const records = [];
  for (let index = 0; index < 3; index++) records.push(await client.submit(request("query")));
  const ids = (await client.list("ten_a", { limit: 10 })).map(({ id }) => id);
  expect(ids).toEqual([records[2]!.id, records[1]!.id]);
});

test("the same idempotency key and fingerprint is the same job, another fingerprint is a conflict", async () => {
  let runs = 0;
  await bench.workers({ insert: async () => ++runs });
  const client = bench.client();
  const keyed = (fingerprint: string) => request("insert", {}, { idempotency: { key: "k:{1}", fingerprint } });
  const first = await client.submitAndWait(keyed("a"), 5_000);
  expect(first).toMatchObject({ state: "completed", result: 1 });
  expect(await client.submit(keyed("a"))).toEqual(first);
  expect(await bench.client().submitAndWait(keyed("a"), 5_000)).toEqual(first);
  await expect(client.submit(keyed("b"))).rejects.toMatchObject({ code: "idempotency_conflict" });
  // The key is the tenant's: another tenant's is another job.
  const other = await client.submitAndWait({ ...keyed("b"), tenant: "ten_b" }, 5_000);
  expect(other).toMatchObject({ state: "completed", result: 2 });
});

test("of many submits with one key at the same time one becomes the job", async () => {
  let runs = 0;
  await bench.workers({ insert: async () => ++runs });
  const clients = [bench.client(), bench.client()];
  const keyed = request("insert", {}, { idempotency: { key: "k", fingerprint: "f" } });
  const records = await Promise.all(Array.from({ length: 40 }, (_, n) => clients[n % 2]!.submitAndWait(keyed, 5_000)));
  expect(new Set(records.map(({ id }) => id)).size).toBe(1);
  expect(records.map(({ result }) => result)).toEqual(records.map(() => 1));
  expect(runs).toBe(1);
});

/** Takes a waiting job out of its queue as if it had never got there. */
async function loseFromQueue(id: string): Promise<Redis> {
  const bare = bench.bare();
  const queue = `{${bench.settings.prefix}-insert}:insert`;
  await until(async () => (await bare.del(`${queue}:${queueJobId("ten_a", id)}`)) === 1);
  await bare.del(`${queue}:wait`);
  return bare;
}

test("a repeat heals a submit that died between the status and admission", async () => {
  const client = bench.client();
  const keyed = request("insert", { tree: 1 }, { idempotency: { key: "k", fingerprint: "f" } });
  const first = await client.submit(keyed);
  const bare = await loseFromQueue(first.id);
  await bare.del(...(await bare.keys(`{${bench.settings.prefix}-lane-batch}:*`)));
  await bench.workers({ insert: async (payload) => payload });
  expect(await client.submitAndWait(keyed, 5_000)).toMatchObject({ id: first.id, result: { tree: 1 } });
});

test("a job that never got from its lane into its queue gets there by a sweep", async () => {
  const client = bench.client();
  const job = await client.submit(request("insert", { tree: 1 }));
  await loseFromQueue(job.id);
  await bench.workers({ insert: async (payload) => payload });
  expect(await untilState(client, job.id, "completed")).toMatchObject({ result: { tree: 1 } });
});

test("inserts of one memory run one after the other in the order of their submits, those of others beside them", async () => {
  const client = bench.client();
  const [order, running]: [string[], Set<string>] = [[], new Set()];
  const ids = [];
  for (let at = 0; at < 12; at += 1) {
    const memory = `mem_${at % 2}`;
    ids.push((await client.submit(request("insert", { at }, { memory }))).id);
  }
  await bench.workers({
    insert: async (payload, { memory }) => {
      expect(running.has(memory)).toBe(false);
      running.add(memory);
      await setImmediate();
      order.push(`${memory}/${(payload as { at: number }).at}`);
      running.delete(memory);
    },
  });
  for (const id of ids) await untilState(client, id, "completed");
  for (const memory of ["mem_0", "mem_1"]) {
    const own = order.filter((entry) => entry.startsWith(memory)).map((entry) => Number(entry.split("/")[1]));
    expect(own).toEqual([...own].sort((one, other) => one - other));
    expect(own).toHaveLength(6);
  }
});

test("a tenant that has too much waiting is refused, and nothing of that is left, not even the key", async () => {
  const lanes = { ...bench.settings.lanes, batch: { ...bench.settings.lanes.batch, window: 1, tenantJobs: 1 } };
  const client = bench.client({ lanes });
  await client.submit(request("insert"));
  await client.submit(request("insert"));
  const keyed = request("insert", {}, { idempotency: { key: "k", fingerprint: "f" } });
  await expect(client.submit(keyed)).rejects.toMatchObject({ code: "queue_full" });
  expect(await client.list("ten_a", { limit: 10 })).toHaveLength(2);
  expect(await client.backlog()).toMatchObject({ interactive: { jobs: 0, oldestMs: 0 }, batch: { jobs: 1 } });
  await bench.workers({ insert: async () => 1 }, { settings: { ...bench.settings, lanes } });
  await until(async () => (await client.backlog()).batch.jobs === 0);
  expect(await client.submitAndWait(keyed, 5_000)).toMatchObject({ state: "completed" });
});

test("of a job that is refused by its caller's check there is nothing; a repeat of one that was given goes on", async () => {
  const client = bench.client();
  let room = false;
  const check = async (): Promise<void> => {
    if (!room) throw new EspalierError("quota_exceeded", "no room");
  };
  const keyed = request("insert", {}, { idempotency: { key: "k", fingerprint: "f" }, check });
  const keys = async (): Promise<readonly string[]> => (await bench.bare().keys("*{ten_a}*")).toSorted();
  const before = await keys();
  const refused = await Promise.allSettled(Array.from({ length: 20 }, () => client.submit(keyed)));
  expect(refused).toEqual(
    refused.map(() => ({ status: "rejected", reason: expect.objectContaining({ code: "quota_exceeded" }) })),
  );
  await expect(client.submit(request("insert", {}, { check }))).rejects.toMatchObject({ code: "quota_exceeded" });
  expect(await keys()).toEqual(before);
  room = true;
  const { id } = await client.submit(keyed);
  room = false;
  expect((await client.submit(keyed)).id).toBe(id);
});

test("an ended job with a key lives as long as the key, one without as long as any", async () => {
  await bench.workers({ insert: async () => 1 });
  const client = bench.client();
  const keyed = await client.submitAndWait(
    request("insert", {}, { idempotency: { key: "k", fingerprint: "f" } }),
    5_000,
  );
  const plain = await client.submitAndWait(request("insert"), 5_000);
  const bare = bench.bare();
  const hours = async (id: string): Promise<number> =>
    Math.ceil((await bare.pttl(`${bench.settings.prefix}:{ten_a}:status:${id}`)) / 3_600_000);
  expect(await hours(keyed.id)).toBe(24);
  expect(await hours(plain.id)).toBe(1);
});

test("large payloads and results go by reference, and the payload goes away with the end", async () => {
  await bench.workers({ insert: async (payload) => payload });
  const client = bench.client();
  // Two bytes a character: the limits count bytes.
  const text = "é".repeat(LIMITS.resultBytes / 2 + 1);
  const record = await client.submitAndWait(request("insert", { text }), 5_000);
  expect(record.result).toEqual({ text });
  expect(await client.get("ten_a", record.id)).toEqual(record);
  expect([...bench.payloads.blobs.keys()]).toEqual([`ten_a/job/${record.id}/result-1`]);
  const hash = await bench.bare().hgetall(`${bench.settings.prefix}:{ten_a}:status:${record.id}`);
  expect(hash).not.toHaveProperty("result");
});

test("a result too large for a wake-up is read from its status", async () => {
  await bench.workers({ query: async (payload) => "x".repeat((payload as { size: number }).size) });
  const client = bench.client();
  const size = bench.settings.wakeBytes + 1;
  const record = await client.submitAndWait(request("query", { size }), 5_000);
  expect(record.result).toBe("x".repeat(size));
});

test("a result that expired before its status is said to be gone", async () => {
  await bench.workers({ insert: async () => "x".repeat(LIMITS.resultBytes + 1) });
  const client = bench.client();
  const record = await client.submitAndWait(request("insert"), 5_000);
  bench.payloads.blobs.clear();
  await expect(client.get("ten_a", record.id)).rejects.toMatchObject({ code: "job_not_found" });
});

test("jobs are counted by queue and state, with the age of the oldest", async () => {
  const client = bench.client();
  await client.submit(request("query"));
  await client.submit(request("score", { task: "embed-fields", revision: 1 }));
  expect(await client.counts()).toMatchObject({ query: { waiting: 1, active: 0 }, score: { waiting: 1, dead: 0 } });
  const ages = await until(async () => {
    const oldest = await client.oldestMs();
    return oldest.query > 20 && oldest;
  });
  expect(ages.insert).toBe(0);
});

test("what waits ahead of a queue has an age too, and a job that waits to be tried again is due when its time has come", async () => {
  const lanes = { ...bench.settings.lanes, interactive: { ...bench.settings.lanes.interactive, window: 1 } };
  const queues = { ...bench.settings.queues, insert: { ...bench.settings.queues.insert, retryBaseMs: 60_000 } };
  const settings = { ...bench.settings, lanes, queues };
  const client = bench.client({ lanes });
  await client.submit(request("query"));
  expect((await client.backlog()).interactive).toEqual({ jobs: 0, oldestMs: 0 });
  await client.submit(request("query"));
  await until(async () => (await client.backlog()).interactive.oldestMs > 20);
  const fail = async (): Promise<never> => {
    throw new EspalierError("store_unavailable", "away");
  };
  const workers = await bench.workers({ insert: fail }, { settings });
  const { id } = await client.submit(request("insert"));
  await until(async () => (await client.counts()).insert["delayed"] === 1);
  await workers.close({ drainMs: 1_000, giveBackMs: 50 });
  // Its time comes: the score of a delayed job is its time, shifted to make room for an order.
  const { prefix } = bench.settings;
  await bench.bare().zadd(`{${prefix}-insert}:insert:delayed`, Date.now() * 0x1000, `ten_a.${id}`);
  await until(async () => (await client.counts()).insert["due"] === 1);
  expect(await client.counts()).toMatchObject({ insert: { due: 1, delayed: 0, waiting: 0, prioritized: 0 } });
});

test("every key names its tenant, and one slot holds all that a script touches", async () => {
  await bench.workers(echo);
  const client = bench.client();
  await client.submitAndWait(request("query", {}, { idempotency: { key: "k", fingerprint: "f" } }), 5_000);
  const keys = await bench.bare().keys("*");
  const { prefix } = bench.settings;
  const own = keys.filter((key) => key.startsWith(`${prefix}:`));
  expect(own.length).toBe(6);
  for (const key of own) expect(key).toContain("{ten_a}");
  const queued = keys.filter((key) => key.startsWith(`{${prefix}-`));
  expect(queued.length).toBeGreaterThan(0);
  for (const key of queued) if (key.includes("job_")) expect(key).toContain(":ten_a.job_");
});

test("what jobs said of a memory that is gone is forgotten, their states are not, and other memories' jobs stay whole", async () => {
  const client = bench.client();
  await bench.workers({ query: async () => ({ rows: ["a secret"] }) });
  const [own, other] = await Promise.all(
    ["mem_1", "mem_2"].map((memory) => client.submitAndWait(request("query", { query: "//X" }, { memory }), 5_000)),
  );
  expect(await client.forgetContents("ten_a", "mem_1")).toBe(1);
  const left = await client.get("ten_a", own!.id);
  expect([left.state, left.result]).toEqual(["completed", undefined]);
  expect(await client.get("ten_a", other!.id)).toMatchObject({ result: { rows: ["a secret"] } });
  expect(await client.forgetContents("ten_a", "mem_1")).toBe(0);
});
