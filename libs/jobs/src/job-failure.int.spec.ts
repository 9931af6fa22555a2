import { setTimeout } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, expect, test } from "@jest/globals";
import { EspalierError } from "#core";
import { jobKeys } from "./keys.js";
import { openQueue } from "./open-queue.js";
import type { RunReport } from "./run-job.js";
import { openJobBench, request, until, untilState, type JobBench } from "./testing/job-bench.js";
import type { JobEvent, JobHandler } from "./types.js";

let bench: JobBench;
beforeAll(async () => {
  bench = await openJobBench();
});
afterEach(() => bench.reset());
afterAll(() => bench.close());

const overloaded = () => new EspalierError("store_unavailable", "The store is away.", { details: { store: "test" } });

test("a retryable error is tried again, and the job is queued in between", async () => {
  const attempts: number[] = [];
  const followed = Promise.withResolvers<undefined>();
  await bench.workers({
    insert: async (_payload, { attempt }) => {
      attempts.push(attempt);
      await followed.promise;
      if (attempt < 3) throw overloaded();
      return "at last";
    },
  });
  const client = bench.client();
  const { id } = await client.submit(request("insert"));
  const events: JobEvent[] = [];
  for await (const event of client.events("ten_a", id, { signal: AbortSignal.timeout(5_000) })) {
    events.push(event);
    followed.resolve(undefined);
  }
  expect(await client.get("ten_a", id)).toMatchObject({ state: "completed", attempts: 3, result: "at last" });
  expect(attempts).toEqual([1, 2, 3]);
  expect(events.map((event) => event.record.state)).toEqual([
    ...["queued", "active", "queued", "active", "queued", "active", "completed"],
  ]);
});

test("a run that fails while it is being announced leaves its job queued", async () => {
  let retried = 0;
  const settings = {
    ...bench.settings,
    announceAfterMs: 5,
    queues: { ...bench.settings.queues, query: { ...bench.settings.queues.query, retryBaseMs: 30_000 } },
  };
  const onRun = ({ outcome }: RunReport): void => {
    if (outcome === "retried") retried += 1;
  };
  const query: JobHandler = async () => {
    await setTimeout(5);
    throw overloaded();
  };
  await bench.workers({ query }, { settings, onRun });
  const client = bench.client();
  const jobs = await Promise.all(Array.from({ length: 60 }, () => client.submit(request("query"))));
  await until(() => retried === jobs.length);
  const records = await Promise.all(jobs.map(({ id }) => client.get("ten_a", id)));
  expect(records.filter(({ state }) => state !== "queued")).toEqual([]);
});

test("a job tells when its latest run began, while that runs as at its end", async () => {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  await bench.workers({
    insert: async (_payload, { attempt }) => {
      if (attempt === 1) throw overloaded();
      await promise;
    },
  });
  const client = bench.client();
  const { id } = await client.submit(request("insert"));
  const active = await until(async () => {
    const record = await client.get("ten_a", id);
    return record.attempts === 2 && record.state === "active" ? record : undefined;
  });
  resolve(undefined);
  const { startedAt } = await untilState(client, id, "completed");
  expect(active.startedAt).toBe(startedAt);
});

test("an error that is not retryable fails the job at its first run, with code, message and details", async () => {
  await bench.workers({
    insert: async () => {
      throw new EspalierError("invalid_xml", "No element at 1:1.", { details: { line: 1 } });
    },
  });
  const client = bench.client();
  const record = await client.submitAndWait(request("insert"), 5_000);
  expect(record).toMatchObject({
    ...{ state: "failed", attempts: 1 },
    error: { code: "invalid_xml", message: "No element at 1:1.", details: { line: 1 } },
  });
  expect(await client.get("ten_a", record.id)).toEqual(record);
  expect((await client.counts()).insert["dead"]).toBe(0);
});

test("a job whose attempts are spent is dead, with its last error, and counted", async () => {
  let runs = 0;
  const reports: RunReport[] = [];
  await bench.workers(
    {
      insert: async () => {
        runs++;
        throw overloaded();
      },
    },
    { onRun: (report) => reports.push(report) },
  );
  const client = bench.client();
  const record = await client.submitAndWait(request("insert"), 10_000);
  expect(record).toMatchObject({ state: "dead", attempts: 5, error: { code: "store_unavailable" } });
  expect(runs).toBe(5);
  await until(async () => (await client.counts()).insert["dead"] === 1);
  const days = (await bench.bare().pttl(`${bench.settings.prefix}:{ten_a}:status:${record.id}`)) / 86_400_000;
  expect(Math.ceil(days)).toBe(30);
  await until(() => reports.length === 5);
  expect(reports.map(({ outcome }) => outcome)).toEqual(["retried", "retried", "retried", "retried", "dead"]);
});

test("a model that asks for less load costs no attempt, but of a job that somebody waits for", async () => {
  const { insert, query } = bench.settings.queues;
  const queues = {
    ...bench.settings.queues,
    insert: { ...insert, attempts: 1 },
    query: { ...query, attempts: 1 },
  };
  const settings = { ...bench.settings, queues };
  const busy = (): never => {
    throw new EspalierError("model_overloaded", "The model is overloaded.");
  };
  const handlers = {
    insert: async (_payload: unknown, { attempt }: { readonly attempt: number }) => (attempt > 1 ? "at last" : busy()),
    query: async () => busy(),
  };
  await bench.workers(handlers, { settings });
  const client = bench.client({ queues });
  const read = await client.submitAndWait(request("query"), 5_000);
  expect(read).toMatchObject({ state: "dead", error: { code: "model_overloaded" } });
  const written = await client.submitAndWait(request("insert"), 10_000);
  expect(written).toMatchObject({ state: "completed", result: "at last", attempts: 2 });
});

test("an unknown throw is internal, and its message is not told", async () => {
  const queues = { ...bench.settings.queues, insert: { ...bench.settings.queues.insert, attempts: 1 } };
  const settings = { ...bench.settings, queues };
  await bench.workers(
    {
      insert: async () => {
        throw new Error("password=hunter2");
      },
    },
    { settings },
  );
  const record = await bench.client({ queues }).submitAndWait(request("insert"), 5_000);
  expect(record).toMatchObject({ state: "dead", error: { code: "internal" } });
  expect(JSON.stringify(record)).not.toContain("hunter2");
});

test("a read that throws what nobody knows fails at its first run", async () => {
  let runs = 0;
  await bench.workers({
    query: async () => {
      runs++;
      throw new Error("a bug");
    },
  });
  const record = await bench.client().submitAndWait(request("query"), 5_000);
  expect(record).toMatchObject({ state: "failed", error: { code: "internal" } });
  expect(runs).toBe(1);
});

test("a task that no handler knows fails, and says so", async () => {
  await bench.workers({ "embed-fields": async () => 1 });
  const record = await bench.client().submitAndWait(request("score", { task: "make-coffee" }), 5_000);
  expect(record).toMatchObject({ state: "failed", error: { code: "unknown_job_kind" } });
});

test("a worker that lost its lock cannot overwrite what the newer attempt wrote", async () => {
  const first = Promise.withResolvers<string>();
  const begun = Promise.withResolvers<undefined>();
  const handle = async (_payload: unknown, { attempt }: { readonly attempt: number }): Promise<string> => {
    if (attempt > 1) return "second";
    begun.resolve(undefined);
    return first.promise;
  };
  const reports: RunReport[] = [];
  await bench.workers({ insert: handle }, { onRun: (report) => reports.push(report) });
  const client = bench.client();
  const { id } = await client.submit(request("insert"));
  await begun.promise;
  // The lock is gone: a stalled check takes the job over while the first run goes on.
  const stop = bench.loseLock("insert", id);
  await bench.workers({ insert: handle }, { onRun: (report) => reports.push(report) });
  const record = await untilState(client, id, "completed");
  stop();
  // On a busy machine the one that took over can lose it too.
  expect(record.result).toBe("second");
  expect(record.attempts).toBeGreaterThanOrEqual(2);
  first.resolve("first");
  await until(() => reports.some(({ attempt, outcome }) => attempt === 1 && outcome === "skipped"));
  expect(await client.get("ten_a", id)).toEqual(record);
});

test("a job that stalls more often than allowed is dead, with its reason", async () => {
  const never = new Promise<never>(() => undefined);
  const runs: number[] = [];
  const insert: JobHandler = async (_payload, { attempt }) => {
    runs.push(attempt);
    return never;
  };
  // The last run begins at once: one that waits to be alone could lose the job before, on a busy machine.
  await bench.workers({ insert }, { settings: { ...bench.settings, lastRun: { quietMs: 1, awayMs: 1_500 } } });
  const client = bench.client();
  const { id } = await client.submit(request("insert"));
  const stop = bench.loseLock("insert", id);
  const record = await untilState(client, id, "dead");
  stop();
  expect(runs).toEqual([1, 2, 3]);
  expect(record).toMatchObject({
    error: { code: "internal", details: { reason: expect.stringContaining("stalled") } },
  });
  expect(record.error!.message).toContain("taken over 2 times");
  await until(async () => (await client.counts()).insert["dead"] === 1);
});

test("a crash between the end and BullMQ's closing of the job does not run it again", async () => {
  let runs = 0;
  const outcomes: string[] = [];
  await bench.workers({ insert: async () => ++runs }, { onRun: ({ outcome }) => outcomes.push(outcome) });
  const client = bench.client();
  const { id, createdAt } = await client.submitAndWait(request("insert"), 5_000);
  const token = `ten_a.${id}`;
  const queue = openQueue(bench.bare(), jobKeys(bench.settings.prefix), bench.settings, "insert");
  await until(async () => (await queue.getJob(token)) === undefined);
  await queue.add("insert", { tenant: "ten_a", memory: "mem_1", id, createdAt, payload: {} }, { jobId: token });
  await until(() => outcomes.length === 2);
  await queue.close();
  expect(outcomes).toEqual(["completed", "skipped"]);
  expect(runs).toBe(1);
  expect(await client.get("ten_a", id)).toMatchObject({ result: 1, attempts: 1 });
});

test("of a completed job nothing is left but its status, which has its result", async () => {
  await bench.workers({ insert: async () => "stored" });
  const client = bench.client();
  const { id } = await client.submitAndWait(request("insert", { text: "kept by nobody" }), 5_000);
  const keys = (): Promise<string[]> => bench.bare().keys(`*${id}*`);
  const status = `${bench.settings.prefix}:{ten_a}:status:${id}`;
  await until(async () => (await keys()).every((key) => key === status));
  expect(await keys()).toEqual([status]);
  expect(await client.get("ten_a", id)).toMatchObject({ state: "completed", result: "stored" });
});

test("a worker that stops drains what runs", async () => {
  const answer = Promise.withResolvers<string>();
  const workers = await bench.workers({ insert: () => answer.promise });
  const client = bench.client();
  const { id } = await client.submit(request("insert"));
  await untilState(client, id, "active");
  const closing = workers.close({ drainMs: 5_000, giveBackMs: 50 });
  answer.resolve("drained");
  await closing;
  expect(await client.get("ten_a", id)).toMatchObject({ state: "completed", result: "drained", attempts: 1 });
});

test("a stop that runs out of time gives the job back unharmed: nothing stalls, no attempt is spent", async () => {
  const workers = await bench.workers({
    insert: (_payload, { signal }) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener("abort", () => {
          reject(signal.reason as Error);
        });
      }),
  });
  const client = bench.client();
  const { id } = await client.submit(request("insert"));
  await untilState(client, id, "active");
  await workers.close({ drainMs: 10, giveBackMs: 1_000 });
  expect(await client.get("ten_a", id)).toMatchObject({ state: "queued" });
  expect(await client.counts()).toMatchObject({ insert: { waiting: 1, active: 0, delayed: 0 } });
  await bench.workers({ insert: async () => "by the next" });
  expect(await untilState(client, id, "completed")).toMatchObject({ result: "by the next", attempts: 2 });
});

test("a handler that does not obey its signal at a stop is left behind, and its job given back all the same", async () => {
  const workers = await bench.workers({ insert: () => new Promise<never>(() => undefined) });
  const client = bench.client();
  const { id } = await client.submit(request("insert"));
  await untilState(client, id, "active");
  await workers.close({ drainMs: 0, giveBackMs: 1_000 });
  expect(await client.get("ten_a", id)).toMatchObject({ state: "queued" });
  expect(await client.counts()).toMatchObject({ insert: { waiting: 1, active: 0, delayed: 0 } });
});
