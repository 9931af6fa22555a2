import { afterAll, afterEach, beforeAll, expect, test } from "@jest/globals";
import { EspalierError } from "#core";
import { openJobBench, request, until, untilState, type JobBench } from "../testing/job-bench.js";

let bench: JobBench;
beforeAll(async () => {
  bench = await openJobBench();
});
afterEach(() => bench.reset());
afterAll(() => bench.close());

const HOUR_MS = 3_600_000;

test.each([
  ["ahead", HOUR_MS],
  ["behind", -HOUR_MS],
])("a job that waits for its next attempt by a clock that is an hour %s runs all the same", async (_where, byMs) => {
  const queues = { ...bench.settings.queues, insert: { ...bench.settings.queues.insert, retryBaseMs: 30_000 } };
  const settings = { ...bench.settings, queues };
  const failing = await bench.workers(
    { insert: () => Promise.reject(new EspalierError("store_unavailable", "away")) },
    { settings },
  );
  const { id } = await bench.client().submit(request("insert"));
  const delayed = `{${bench.settings.prefix}-insert}:insert:delayed`;
  const token = `ten_a.${id}`;
  const bare = bench.bare();
  const score = await until(async () => (await bare.zscore(delayed, token)) ?? undefined);
  await failing.close({ drainMs: 100, giveBackMs: 100 });
  // No worker is there that could look at it by its own clock.
  await bare.zadd(delayed, Number(score) + byMs * 0x1000, token);
  await until(async () => (await bare.zscore(delayed, token)) === null);
  await bench.workers({ insert: async () => "run" });
  expect(await untilState(bench.client(), id, "completed")).toMatchObject({ result: "run" });
});

test("a job that waits for its next attempt by a right clock waits on", async () => {
  const queues = { ...bench.settings.queues, insert: { ...bench.settings.queues.insert, retryBaseMs: 30_000 } };
  await bench.workers(
    { insert: () => Promise.reject(new EspalierError("store_unavailable", "away")) },
    { settings: { ...bench.settings, queues } },
  );
  const { id } = await bench.client().submit(request("insert"));
  const bare = bench.bare();
  const delayed = `{${bench.settings.prefix}-insert}:insert:delayed`;
  await until(async () => (await bare.zscore(delayed, `ten_a.${id}`)) !== null);
  const flight = `{${bench.settings.prefix}-lane-batch}:flight`;
  const before = Number(await bare.zscore(flight, `ten_a.${id}`));
  // It was looked after since.
  await until(async () => Number(await bare.zscore(flight, `ten_a.${id}`)) > before);
  await until(
    async () => Number(await bare.zscore(flight, `ten_a.${id}`)) > before + bench.settings.lanes.batch.lostMs,
  );
  expect(await bare.zscore(delayed, `ten_a.${id}`)).not.toBeNull();
});
