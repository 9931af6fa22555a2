import { afterAll, afterEach, beforeAll, expect, test } from "@jest/globals";
import { LIMITS } from "#core";
import { collect, openJobBench, request, until, untilState, type JobBench } from "../testing/job-bench.js";
import type { JobClient, JobError } from "../types.js";
import { held } from "./held.js";
import type { HeldJob } from "./held-jobs.js";

let bench: JobBench;
beforeAll(async () => {
  bench = await openJobBench();
});
afterEach(() => bench.reset());
afterAll(() => bench.close());

const error: JobError = { code: "model_bad_output", message: "The model answered NaN.", details: {} };

/** Submits an insert whose handler is held with the result, and waits until it is. */
async function hold(client: JobClient, result: unknown = { revision: 1 }): Promise<HeldJob> {
  await bench.workers({
    insert: async (_payload, { progress }) => {
      progress(0, 10);
      return held(result);
    },
  });
  const { id } = await client.submit(request("insert"));
  await untilHeld(client, id);
  return { tenant: "ten_a", job: id };
}

/** A held job's queue is done with it. */
async function untilHeld(client: JobClient, id: string): Promise<void> {
  const taken = bench.background().held;
  await until(async () => (await taken.take(10)).some(({ job }) => job === id));
  await until(async () => (await client.counts()).insert["active"] === 0);
  await until(async () => (await client.get("ten_a", id)).progress.total === 10);
}

test("a held job has left its queue and stays active, without a result, until it is released", async () => {
  const client = bench.client();
  const { held: jobs } = bench.background();
  const job = await hold(client);
  const before = await client.get("ten_a", job.job);
  expect(before).toMatchObject({ state: "active", progress: { done: 0, total: 10 }, attempts: 1 });
  expect(before).not.toHaveProperty("result");
  expect(await client.counts()).toMatchObject({ insert: { active: 0, waiting: 0, delayed: 0 } });
  expect(await jobs.release(job, { state: "completed" })).toBe(true);
  expect(await client.get("ten_a", job.job)).toMatchObject({
    ...{ state: "completed", result: { revision: 1 }, progress: { done: 10, total: 10 }, attempts: 1 },
    finishedAt: expect.any(Number),
  });
  expect(await jobs.take(10)).toEqual([]);
});

test("a job that is held frees its slot for the next one", async () => {
  const client = bench.client();
  await bench.workers({ insert: async () => held(1) }, { concurrency: { insert: 1 } });
  const ids = await Promise.all([1, 2, 3].map(async () => (await client.submit(request("insert"))).id));
  const { held: jobs } = bench.background();
  await until(async () => (await jobs.take(10)).length === 3);
  const states = await Promise.all(ids.map(async (id) => (await client.get("ten_a", id)).state));
  expect(states).toEqual(["active", "active", "active"]);
});

test("one who waits for the job, and one who follows it, hear of its release as of any end", async () => {
  const client = bench.client();
  await bench.workers({
    insert: async (_payload, { progress }) => {
      progress(0, 10);
      return held({ revision: 7 });
    },
  });
  const waiting = client.submitAndWait(request("insert"), 10_000);
  const job = await until(async () => (await client.list("ten_a", { limit: 1 }))[0]);
  const following = collect(client.events("ten_a", job.id, { signal: AbortSignal.timeout(10_000) }));
  await untilHeld(client, job.id);
  const { held: jobs } = bench.background();
  await jobs.progress({ tenant: "ten_a", job: job.id }, 4);
  await jobs.release({ tenant: "ten_a", job: job.id }, { state: "completed" });
  expect(await waiting).toMatchObject({ state: "completed", result: { revision: 7 } });
  const told = (await following).map(({ record }) => `${record.state} ${record.progress.done}`);
  expect(told.slice(-2)).toEqual(["active 6", "completed 10"]);
});

test("progress of a held job never goes back", async () => {
  const client = bench.client();
  const job = await hold(client);
  const { held: jobs } = bench.background();
  for (const left of [4, 7, 4]) await jobs.progress(job, left);
  expect(await client.get("ten_a", job.job)).toMatchObject({ state: "active", progress: { done: 6, total: 10 } });
});

test.each(["failed", "dead"] as const)("a job released as %s has the error and no result", async (state) => {
  const client = bench.client();
  const job = await hold(client);
  expect(await bench.background().held.release(job, { state, error })).toBe(true);
  const record = await client.get("ten_a", job.job);
  expect(record).toMatchObject({ state, error, progress: { done: 0, total: 10 } });
  expect(record).not.toHaveProperty("result");
  expect(await client.counts()).toMatchObject({ insert: { dead: state === "dead" ? 1 : 0 } });
  const letters = await client.deadLetters("ten_a", { limit: 10 });
  expect(letters.map(({ id }) => id)).toEqual(state === "dead" ? [job.job] : []);
});

test("the first release counts, and a job that is not held is not released", async () => {
  const client = bench.client();
  const job = await hold(client);
  const { held: jobs } = bench.background();
  const outcomes = await Promise.all([
    jobs.release(job, { state: "completed" }),
    bench.background().held.release(job, { state: "dead", error }),
  ]);
  expect(outcomes.filter(Boolean)).toHaveLength(1);
  const ended = await client.get("ten_a", job.job);
  expect(await jobs.release(job, { state: "failed", error })).toBe(false);
  await jobs.progress(job, 1);
  expect(await client.get("ten_a", job.job)).toEqual(ended);
  expect(await jobs.release({ tenant: "ten_a", job: "job_none" }, { state: "completed" })).toBe(false);
});

test("a job that runs cannot be released, and is still there to be held", async () => {
  const client = bench.client();
  const end = Promise.withResolvers<undefined>();
  await bench.workers({
    insert: async () => {
      await end.promise;
      return held("late");
    },
  });
  const { id } = await client.submit(request("insert"));
  await untilState(client, id, "active");
  const { held: jobs } = bench.background();
  expect(await jobs.release({ tenant: "ten_a", job: id }, { state: "completed" })).toBe(false);
  end.resolve(undefined);
  await until(async () => jobs.release({ tenant: "ten_a", job: id }, { state: "completed" }));
  expect(await client.get("ten_a", id)).toMatchObject({ state: "completed", result: "late" });
});

test("a held job cannot be cancelled: what it did is stored", async () => {
  const client = bench.client();
  const job = await hold(client);
  await expect(client.cancel("ten_a", job.job)).rejects.toMatchObject({ code: "job_finished" });
  expect(await client.get("ten_a", job.job)).toMatchObject({ state: "active" });
});

test("a second run of a held job finds nothing to do, also when the first one lost its lock", async () => {
  const client = bench.client();
  let runs = 0;
  const first = Promise.withResolvers<undefined>();
  const handle = async (): Promise<unknown> => {
    runs += 1;
    if (runs === 1) await first.promise;
    return held(`run ${runs}`);
  };
  await bench.workers({ insert: handle });
  await bench.workers({ insert: handle });
  const { id } = await client.submit(request("insert"));
  await untilState(client, id, "active");
  const stop = bench.loseLock("insert", id);
  await until(() => runs === 2);
  stop();
  const { held: jobs } = bench.background();
  await until(async () => (await jobs.take(1)).length === 1);
  first.resolve(undefined);
  await until(async () => (await client.counts()).insert["active"] === 0);
  await until(async () => jobs.release({ tenant: "ten_a", job: id }, { state: "completed" }));
  expect(await client.get("ten_a", id)).toMatchObject({ state: "completed", result: "run 2" });
});

test("a large result is kept beside the job and read when it is released", async () => {
  const client = bench.client();
  const text = "x".repeat(LIMITS.resultBytes + 1);
  const job = await hold(client, { text });
  expect(bench.payloads.blobs.size).toBe(1);
  expect(await client.get("ten_a", job.job)).not.toHaveProperty("result");
  await bench.background().held.release(job, { state: "completed" });
  expect(await client.get("ten_a", job.job)).toMatchObject({ result: { text } });
});

test("the large payload of a held job is kept until it is known that nobody replays it", async () => {
  const client = bench.client();
  await bench.workers({ insert: async () => held("stored") });
  const { held: jobs } = bench.background();
  const payload = { text: "x".repeat(LIMITS.payloadBytes) };
  const [done, lost] = await Promise.all([1, 2].map(async () => (await client.submit(request("insert", payload))).id));
  await until(async () => (await jobs.take(10)).length === 2);
  await until(() => jobs.release({ tenant: "ten_a", job: done! }, { state: "completed" }));
  await until(() => jobs.release({ tenant: "ten_a", job: lost! }, { state: "dead", error }));
  expect([...bench.payloads.blobs.keys()]).toEqual([`ten_a/job/${lost!}/payload`]);
});

test("a replay of a job that was held and failed is held too, for the effects of the first", async () => {
  const client = bench.client();
  const ran: unknown[] = [];
  await bench.workers({
    insert: async (payload, { effectId }) => {
      ran.push([payload, effectId]);
      return held("stored");
    },
  });
  const { held: jobs } = bench.background();
  const { id } = await client.submit(request("insert", { some: "tree" }));
  await until(() => jobs.release({ tenant: "ten_a", job: id }, { state: "dead", error }));
  const replay = await client.replay("ten_a", id);
  await until(async () => (await jobs.take(10)).length === 1);
  expect(ran).toEqual([
    [{ some: "tree" }, id],
    [{ some: "tree" }, id],
  ]);
  const [again] = await jobs.take(10);
  expect(again).toEqual({ tenant: "ten_a", job: replay.id, waitsFor: id });
  await until(() => jobs.release(again!, { state: "completed" }));
  expect(await client.get("ten_a", replay.id)).toMatchObject({ state: "completed", result: "stored" });
  expect(await jobs.take(10)).toEqual([]);
});

test("looking at the held jobs takes turns, so that none is left out", async () => {
  const client = bench.client();
  await bench.workers({ insert: async () => held(1) });
  const ids = await Promise.all([1, 2, 3, 4].map(async () => (await client.submit(request("insert"))).id));
  const { held: jobs } = bench.background();
  await until(async () => (await jobs.take(10)).length === 4);
  const seen = new Set<string>();
  for (let turn = 0; turn < 2; turn += 1) for (const { job } of await jobs.take(2)) seen.add(job);
  expect([...seen].sort()).toEqual(ids.sort());
});

test("a held job that was looked at rests, for all who look, and one that is new does not", async () => {
  const client = bench.client();
  await bench.workers({ insert: async () => held(1) });
  const rest = 60_000;
  const { id: first } = await client.submit(request("insert"));
  const { held: jobs } = bench.background();
  await until(async () => (await jobs.take(10, rest)).some(({ job }) => job === first));
  expect(await bench.background().held.take(10, rest)).toEqual([]);
  const { id: second } = await client.submit(request("insert"));
  await until(async () => (await jobs.take(10, rest)).some(({ job }) => job === second));
  expect(await jobs.take(10, rest)).toEqual([]);
  expect((await jobs.take(10, 0)).map(({ job }) => job)).toEqual([first, second]);
});

test("a held job is remembered as long as a queued one, and then as long as any that ended", async () => {
  const client = bench.client();
  const job = await hold(client);
  const bare = bench.bare();
  const ttl = (): Promise<number> => bare.pttl(`${bench.settings.prefix}:{ten_a}:status:${job.job}`);
  expect(await ttl()).toBeGreaterThan(bench.settings.keepQueuedMs - 60_000);
  await bench.background().held.release(job, { state: "completed" });
  const left = await ttl();
  expect(left).toBeLessThanOrEqual(bench.settings.keepMs);
  expect(left).toBeGreaterThan(bench.settings.keepMs - 60_000);
});
