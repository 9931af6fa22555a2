import { afterAll, afterEach, beforeAll, expect, test } from "@jest/globals";
import { LIMITS } from "#core";
import { openJobBench, request, until, untilState, type JobBench } from "./testing/job-bench.js";
import type { JobContext } from "./types.js";

let bench: JobBench;
beforeAll(async () => {
  bench = await openJobBench();
});
afterEach(() => bench.reset());
afterAll(() => bench.close());

/** Runs until its signal is aborted. */
const untilAborted = (_payload: unknown, { signal }: JobContext): Promise<never> =>
  new Promise((_resolve, reject) => {
    signal.addEventListener("abort", () => {
      reject(signal.reason as Error);
    });
  });

test("a queued job is cancelled at once, leaves its queue and never runs", async () => {
  const client = bench.client();
  const { id } = await client.submit(request("insert"));
  const other = await client.submit(request("insert"));
  const cancelled = await client.cancel("ten_a", id);
  expect(cancelled).toMatchObject({ state: "cancelled", error: { code: "cancelled" }, attempts: 0 });
  expect(await client.counts()).toMatchObject({ insert: { waiting: 1 } });
  const ran: string[] = [];
  await bench.workers({ insert: async (_payload, context) => ran.push(context.id) });
  await untilState(client, other.id, "completed");
  expect(ran).toEqual([other.id]);
});

test("the large payload of a job that is cancelled in its queue goes away", async () => {
  const client = bench.client();
  const large = { text: "x".repeat(LIMITS.payloadBytes) };
  const { id } = await client.submit({ kind: "insert", tenant: "ten_a", memory: "mem_a", payload: large });
  expect([...bench.payloads.blobs.keys()]).toEqual([`ten_a/job/${id}/payload`]);
  await client.cancel("ten_a", id);
  expect([...bench.payloads.blobs.keys()]).toEqual([]);
});

test("a waiter hears of the cancellation of its job", async () => {
  const client = bench.client();
  const waiting = client.submitAndWait(request("query"), 10_000);
  const id = await until(async () => (await client.list("ten_a", { limit: 1 }))[0]?.id);
  await bench.client().cancel("ten_a", id);
  expect(await waiting).toMatchObject({ state: "cancelled", error: { code: "cancelled" } });
});

test.each(["insert", "query"] as const)("the handler of an active %s hears its signal", async (kind) => {
  await bench.workers({ [kind]: untilAborted });
  const client = bench.client();
  const { id } = await client.submit(request(kind));
  await untilState(client, id, "active");
  expect(["active", "cancelled"]).toContain((await client.cancel("ten_a", id)).state);
  const record = await untilState(client, id, "cancelled");
  expect(record).toMatchObject({ attempts: 1, error: { code: "cancelled" } });
});

test("a read that was not announced yet hears its signal too, and its late result changes nothing", async () => {
  const started = Promise.withResolvers<JobContext>();
  const answer = Promise.withResolvers<string>();
  const settings = { ...bench.settings, announceAfterMs: 60_000 };
  await bench.workers(
    {
      query: async (_payload, context) => {
        started.resolve(context);
        return answer.promise;
      },
    },
    { settings },
  );
  const client = bench.client();
  const { id } = await client.submit(request("query"));
  const { signal } = await started.promise;
  expect((await client.cancel("ten_a", id)).state).toBe("cancelled");
  await until(() => signal.aborted);
  answer.resolve("late");
  await until(async () => (await client.counts()).query["active"] === 0);
  expect(await client.get("ten_a", id)).toMatchObject({ state: "cancelled" });
});

test("an active job that finishes in spite of its signal is completed: its effects are there", async () => {
  const answer = Promise.withResolvers<string>();
  await bench.workers({ insert: () => answer.promise });
  const client = bench.client();
  const { id } = await client.submit(request("insert"));
  await untilState(client, id, "active");
  await client.cancel("ten_a", id);
  answer.resolve("done");
  expect(await untilState(client, id, "completed")).toMatchObject({ result: "done" });
});

test("cancelling twice is cancelling once; an ended job cannot be cancelled", async () => {
  const client = bench.client();
  const { id } = await client.submit(request("insert"));
  const cancelled = await client.cancel("ten_a", id);
  expect(await client.cancel("ten_a", id)).toEqual(cancelled);
  await bench.workers({ insert: async () => 1 });
  const ended = await client.submitAndWait(request("insert"), 5_000);
  await expect(client.cancel("ten_a", ended.id)).rejects.toMatchObject({ code: "job_finished" });
});

test("a job that is cancelled between two attempts does not run again", async () => {
  let runs = 0;
  const queues = { ...bench.settings.queues, insert: { ...bench.settings.queues.insert, retryBaseMs: 60_000 } };
  await bench.workers(
    {
      insert: async () => {
        runs++;
        throw new Error("again");
      },
    },
    { settings: { ...bench.settings, queues } },
  );
  const client = bench.client();
  const { id } = await client.submit(request("insert"));
  await until(async () => (await client.counts()).insert["delayed"] === 1);
  expect(await client.cancel("ten_a", id)).toMatchObject({ state: "cancelled", attempts: 1 });
  expect(await client.counts()).toMatchObject({ insert: { delayed: 0, waiting: 0 } });
  expect(runs).toBe(1);
});

test("a job that fails while the message that cancels it is on its way is cancelled, not tried again", async () => {
  let runs = 0;
  const client = bench.client();
  await bench.workers({
    insert: async (_payload, { id }) => {
      runs++;
      await bench.bare().hset(`${bench.settings.prefix}:{ten_a}:status:${id}`, "cancel", "1");
      throw new Error("again");
    },
  });
  const { id } = await client.submit(request("insert"));
  expect(await untilState(client, id, "cancelled")).toMatchObject({ attempts: 1, error: { code: "cancelled" } });
  await until(async () => (await client.counts()).insert["active"] === 0);
  expect(await client.counts()).toMatchObject({ insert: { delayed: 0, waiting: 0 } });
  expect(runs).toBe(1);
});

test("a cancellation that its worker missed is found by the next run", async () => {
  let runs = 0;
  const client = bench.client();
  const { id } = await client.submit(request("insert"));
  // As a worker leaves it that died while the job was active.
  await bench.bare().hset(`${bench.settings.prefix}:{ten_a}:status:${id}`, { state: "active", attempts: 1 });
  expect(await client.cancel("ten_a", id)).toMatchObject({ state: "active" });
  await bench.workers({ insert: async () => ++runs });
  await untilState(client, id, "cancelled");
  expect(runs).toBe(0);
});

test("a cancellation whose message was lost is found with the next progress", async () => {
  await bench.workers({
    insert: async (_payload, { signal, progress }) => {
      for (let done = 1; ; done++) {
        signal.throwIfAborted();
        progress(done, 1_000);
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
    },
  });
  const client = bench.client();
  const { id } = await client.submit(request("insert"));
  await untilState(client, id, "active");
  await bench.bare().hset(`${bench.settings.prefix}:{ten_a}:status:${id}`, "cancel", "1");
  expect(await untilState(client, id, "cancelled")).toMatchObject({ error: { code: "cancelled" } });
});
