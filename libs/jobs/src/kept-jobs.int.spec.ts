import { afterAll, afterEach, beforeAll, expect, test } from "@jest/globals";
import { EspalierError } from "#core";
import { connectRedis } from "./redis.js";
import { runScript } from "./scripts.js";
import { openJobBench, request, until, type JobBench } from "./testing/job-bench.js";
import type { JobClient, JobKind, JobRecord } from "./types.js";

let bench: JobBench;
beforeAll(async () => {
  bench = await openJobBench();
});
afterEach(() => bench.reset());
afterAll(() => bench.close());

const KIB = 1024;

/** Workers whose queries answer as many bytes as they are asked for, and whose inserts fail for good. */
async function startWith(budgets: {
  readonly keptBytes?: number;
  readonly keptFailedBytes?: number;
}): Promise<JobClient> {
  const settings = { ...bench.settings, ...budgets };
  await bench.workers(
    {
      query: (bytes) => Promise.resolve("x".repeat(bytes as number)),
      insert: () => Promise.reject(new EspalierError("invalid_request", "no")),
    },
    { settings },
  );
  return bench.client(settings);
}

/** Runs jobs one after another, so that they end in the order of their ids. */
async function run(client: JobClient, count: number, kind: JobKind = "query", bytes = 2 * KIB): Promise<JobRecord[]> {
  const records: JobRecord[] = [];
  for (let left = count; left > 0; left -= 1) {
    records.push(
      await client.submitAndWait(request(kind, kind === "query" ? bytes : { text: "x".repeat(bytes) }), 5_000),
    );
  }
  return records;
}

const listed = async (client: JobClient): Promise<string[]> =>
  (await client.list("ten_a", { limit: 100 })).map(({ id }) => id).toReversed();

test("of a tenant's ended jobs those stay that fit into its budget, the newest", async () => {
  const client = await startWith({ keptBytes: 20 * KIB });
  const other = await client.submitAndWait(request("query", KIB, { tenant: "ten_b" }), 5_000);
  const ids = (await run(client, 20)).map(({ id }) => id);
  const kept = await listed(client);
  // A job is its result and a kibibyte for its status.
  expect(kept.length).toBeGreaterThanOrEqual(6);
  expect(kept.length).toBeLessThanOrEqual(7);
  expect(kept).toEqual(ids.slice(-kept.length));
  await expect(client.get("ten_a", ids[0] ?? "")).rejects.toMatchObject({ code: "job_not_found" });
  expect(await client.get("ten_a", ids.at(-1) ?? "")).toMatchObject({ result: "x".repeat(2 * KIB) });
  expect(await client.get("ten_b", other.id)).toMatchObject({ state: "completed" });
  const own = `${bench.settings.prefix}:{ten_a}:`;
  expect(await bench.bare().llen(`${own}kept:ended`)).toBe(kept.length);
  expect((await bench.bare().keys(`${own}status:*`)).length).toBe(kept.length);
  expect(await bench.bare().pttl(`${own}kept:ended`)).toBeGreaterThan(0);
});

test("a result that is larger than the budget is kept until the next job ends", async () => {
  const client = await startWith({ keptBytes: 4 * KIB });
  const [large] = await run(client, 1, "query", 100 * KIB);
  expect(await client.get("ten_a", large?.id ?? "")).toMatchObject({ state: "completed" });
  const [next] = await run(client, 1);
  expect(await listed(client)).toEqual([next?.id]);
});

test("failed jobs have a budget of their own, with their payloads", async () => {
  const client = await startWith({ keptBytes: 4 * KIB, keptFailedBytes: 20 * KIB });
  const failed = (await run(client, 10, "insert", 4 * KIB)).map(({ id, state }) => ({ id, state }));
  expect(new Set(failed.map(({ state }) => state))).toEqual(new Set(["failed"]));
  await run(client, 10);
  const kept = (await client.list("ten_a", { limit: 100, states: ["failed"] })).map(({ id }) => id).toReversed();
  expect(kept.length).toBeGreaterThanOrEqual(3);
  expect(kept).toEqual(failed.slice(-kept.length).map(({ id }) => id));
});

test("a job with an idempotency key leaves its status when its texts go: a repeat finds the first", async () => {
  const client = await startWith({ keptBytes: 8 * KIB });
  const keyed = request("query", 2 * KIB, { idempotency: { key: "once", fingerprint: "f" } });
  const first = await client.submitAndWait(keyed, 5_000);
  await run(client, 10);
  const status = await client.get("ten_a", first.id);
  expect(status).toMatchObject({ id: first.id, state: "completed" });
  expect(status).not.toHaveProperty("result");
  expect((await client.submitAndWait(keyed, 5_000)).id).toBe(first.id);
});

test("jobs that are cancelled while they wait count as well", async () => {
  const client = bench.client({ keptBytes: 4 * KIB });
  const ids: string[] = [];
  for (let left = 10; left > 0; left -= 1) {
    const { id } = await client.submit(request("query"));
    await client.cancel("ten_a", id);
    ids.push(id);
  }
  expect(await listed(client)).toEqual(ids.slice(-3));
});

test("the events of a dropped job go with it", async () => {
  const settings = { ...bench.settings, keptBytes: 16 * KIB };
  const client = bench.client(settings);
  const { id } = await client.submit(request("query"));
  const seen: string[] = [];
  let started: Promise<unknown> | undefined;
  for await (const { record } of client.events("ten_a", id, { signal: AbortSignal.timeout(5_000) })) {
    seen.push(record.state);
    started ??= bench.workers({ query: () => Promise.resolve("done") }, { settings });
  }
  await started;
  expect(seen.at(-1)).toBe("completed");
  const stream = `${bench.settings.prefix}:{ten_a}:events:${id}`;
  expect(await bench.bare().exists(stream)).toBe(1);
  for (let count = 0; count < 10; count += 1) await client.submitAndWait(request("query"), 5_000);
  expect(await bench.bare().exists(stream)).toBe(0);
});

test("keys of jobs are counted: with as many as are remembered a new one is refused, a repeat is not", async () => {
  const client = bench.client({}, async () => ({ idempotencyKeys: 2 }));
  const keyed = (key: string) => request("query", {}, { idempotency: { key, fingerprint: "f" } });
  const first = await client.submit(keyed("1"));
  await client.submit(keyed("2"));
  await expect(client.submit(keyed("3"))).rejects.toMatchObject({
    code: "too_many_idempotency_keys",
    details: { limit: "idempotencyKeys", value: 2, current: 2 },
  });
  expect((await client.submit(keyed("1"))).id).toBe(first.id);
  expect(await client.submit(request("query"))).toMatchObject({ state: "queued" });
  expect(await client.list("ten_a", { limit: 10 })).toHaveLength(3);
});

test("a job that was refused a place gives its key back", async () => {
  const client = bench.client({}, async () => ({ idempotencyKeys: 1, queuedJobs: 0, inFlight: 0 }));
  const keyed = request("query", {}, { idempotency: { key: "1", fingerprint: "f" } });
  await expect(client.submit(keyed)).rejects.toMatchObject({ code: "queue_full" });
  await expect(client.submit(keyed)).rejects.toMatchObject({ code: "queue_full" });
  expect(await bench.bare().keys(`${bench.settings.prefix}:{ten_a}:*`)).toEqual([]);
});

test("a first submit that is refused does not take back the job that a repeat has taken over", async () => {
  const client = bench.client();
  const keyed = request("query", {}, { idempotency: { key: "1", fingerprint: "f" } });
  const { id } = await client.submit(keyed);
  expect((await client.submit(keyed)).id).toBe(id);
  const own = `${bench.settings.prefix}:{ten_a}:`;
  const [entry = ""] = await bench.bare().keys(`${own}idempotency:*`);
  const redis = connectRedis(bench.redis.address, "producer");
  await until(() => redis.status === "ready");
  expect(await runScript(redis, "jobForget", [`${own}status:${id}`], [entry])).toBe(0);
  redis.disconnect();
  expect(await client.get("ten_a", id)).toMatchObject({ id, state: "queued" });
});
