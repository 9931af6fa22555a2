import { setTimeout as pause } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, expect, test } from "@jest/globals";
import { LastRun } from "./last-run.js";
import { openJobBench, request, until, untilState, type JobBench } from "./testing/job-bench.js";

let bench: JobBench;
beforeAll(async () => {
  bench = await openJobBench();
});
afterEach(() => bench.reset());
afterAll(() => bench.close());

const jobKey = (id: string): string => `{${bench.settings.prefix}-insert}:insert:ten_a.${id}`;

/** Submits inserts of different memories that were taken over so often, as BullMQ counts it. */
async function submitTakenOver(count: number, takenOver: number): Promise<readonly string[]> {
  const client = bench.client();
  const bare = bench.bare();
  const records = await Promise.all(
    Array.from({ length: count }, (_, index) => client.submit(request("insert", {}, { memory: `mem_${index}` }))),
  );
  // A job is in its queue a moment after it was acknowledged.
  for (const { id } of records) await until(async () => (await bare.exists(jobKey(id))) === 1);
  await Promise.all(records.map(({ id }) => bare.hset(jobKey(id), "stc", takenOver)));
  return records.map(({ id }) => id);
}

test("jobs in their last run take turns, and jobs that are not do not wait for them", async () => {
  const client = bench.client();
  const last = await submitTakenOver(3, bench.settings.queues.insert.maxStalledCount);
  const running = new Set<string>();
  let most = 0;
  const gate = Promise.withResolvers<undefined>();
  await bench.workers({
    insert: async (_payload, { id, takenOver }) => {
      if (takenOver === 0) return "fresh";
      running.add(id);
      most = Math.max(most, running.size);
      await gate.promise;
      running.delete(id);
      return "last";
    },
  });
  await until(() => running.size === 1);
  const fresh = await client.submitAndWait(request("insert", {}, { memory: "mem_fresh" }), 5_000);
  expect(fresh).toMatchObject({ state: "completed", result: "fresh" });
  gate.resolve(undefined);
  for (const id of last) expect(await untilState(client, id, "completed")).toMatchObject({ result: "last" });
  expect(most).toBe(1);
});

test("while one has its last run, its process has none of the others, however late they came", async () => {
  const last = await submitTakenOver(8, bench.settings.queues.insert.maxStalledCount);
  const bare = bench.bare();
  const starts = async (): Promise<readonly (string | null)[]> =>
    Promise.all(last.map((id) => bare.hget(jobKey(id), "ats")));
  const gate = Promise.withResolvers<undefined>();
  const begun = Promise.withResolvers<undefined>();
  await bench.workers({
    insert: async () => {
      begun.resolve(undefined);
      await gate.promise;
    },
  });
  await begun.promise;
  const before = await starts();
  expect(before.filter((count) => count === "1").length).toBeGreaterThan(1);
  await pause(2_500);
  expect(await starts()).toEqual(before);
  gate.resolve(undefined);
  for (const id of last) await untilState(bench.client(), id, "completed");
});

test("jobs that were taken over less often run beside each other", async () => {
  const before = bench.settings.queues.insert.maxStalledCount - 1;
  const ids = await submitTakenOver(3, before);
  const all = Promise.withResolvers<undefined>();
  let running = 0;
  await bench.workers({
    insert: async () => {
      running += 1;
      if (running === ids.length) all.resolve(undefined);
      await all.promise;
    },
  });
  for (const id of ids) await untilState(bench.client(), id, "completed");
});

test("a last run that was left behind keeps no process alive", () => {
  const timers = (): number => process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;
  const before = timers();
  expect(new LastRun(bench.settings.lastRun).begin()).toBe(true);
  expect(timers()).toBe(before);
});
