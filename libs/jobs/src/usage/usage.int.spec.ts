import { afterAll, afterEach, beforeAll, expect, test } from "@jest/globals";
import { EspalierError, RETENTION_SECONDS } from "#core";
import { until } from "../../../../test/support/until.js";
import { held } from "../held/held.js";
import { connectRedis } from "../redis.js";
import { runScript } from "../scripts.js";
import { openJobBench, request, untilState, type JobBench } from "../testing/job-bench.js";
import type { JobContext } from "../types.js";
import { createTokenMeter } from "./token-meter.js";
import { createUsageReader, type DayUsage, type UsageReader } from "./usage-reader.js";

let bench: JobBench;
let usage: UsageReader;
beforeAll(async () => {
  bench = await openJobBench();
});
afterEach(async () => {
  usage.close();
  await bench.reset();
});
afterAll(() => bench.close());

const open = (): void => {
  usage = createUsageReader({ redis: bench.redis.address, settings: bench.settings });
};

const today = (): number => Math.floor(Date.now() / 86_400_000);

/** What was used yesterday and today, for tests that run at midnight. */
async function used(tenant = "ten_a"): Promise<Omit<DayUsage, "day">> {
  const [one, other] = await until(() => usage.days(tenant, [today(), today() - 1]).catch(() => undefined));
  if (one === undefined || other === undefined) throw new Error("two days were asked for");
  const sum = (left: unknown, right: unknown): unknown =>
    typeof left === "number"
      ? left + (right as number)
      : Object.fromEntries(
          Object.entries(left as object).map(([name, value]) => [name, sum(value, (right as never)[name])]),
        );
  const { day, ...counts } = sum(one, other) as DayUsage;
  expect(day).toBe(one.day + other.day);
  return counts;
}

const stores = (nodes: number, bytes: number) => async (_payload: unknown, context: JobContext) => {
  context.stored({ nodes, bytes });
  return "stored";
};

test("jobs are counted by how they ended, and a tenant that used nothing has zeros", async () => {
  open();
  await bench.workers({
    query: async (payload) => {
      if ((payload as { fail?: boolean }).fail === true) throw new EspalierError("unknown_type", "no such type");
      return payload;
    },
    insert: stores(3, 100),
  });
  const client = bench.client();
  await client.submitAndWait(request("query"), 5_000);
  await client.submitAndWait(request("query", { fail: true }), 5_000);
  await client.submitAndWait(request("insert"), 5_000);
  const waiting = await client.submit(request("maintain", { task: "retext" }));
  await client.cancel("ten_a", waiting.id);
  const none = { completed: 0, failed: 0, dead: 0, cancelled: 0 };
  expect(await used()).toEqual({
    jobs: {
      query: { ...none, completed: 1, failed: 1 },
      insert: { ...none, completed: 1 },
      maintain: { ...none, cancelled: 1 },
    },
    ...{ nodes: 3, bytes: 100, modelTokens: 0 },
  });
  expect(await used("ten_b")).toEqual({
    ...{ jobs: { query: none, insert: none, maintain: none }, nodes: 0, bytes: 0, modelTokens: 0 },
  });
  const keys = await bench.bare().keys(`${bench.settings.prefix}:{ten_a}:usage:*`);
  expect(await bench.bare().ttl(keys[0]!)).toBeGreaterThan(RETENTION_SECONDS.usage - 3_600);
});

test("a job that is tried again, given up and replayed counts what it stored once", async () => {
  open();
  const mended = { yes: false };
  await bench.workers({
    insert: async (payload, context) => {
      context.stored({ nodes: 5, bytes: 500 });
      if (!mended.yes) throw new EspalierError("store_unavailable", "after the commit");
      return payload;
    },
  });
  const client = bench.client();
  const { id } = await client.submit(request("insert"));
  await untilState(client, id, "dead");
  expect(await used()).toMatchObject({ jobs: { insert: { dead: 1, completed: 0 } }, nodes: 0 });
  mended.yes = true;
  const replay = await client.replay("ten_a", id);
  await untilState(client, replay.id, "completed");
  expect(await used()).toMatchObject({ jobs: { insert: { dead: 1, completed: 1 } }, nodes: 5, bytes: 500 });
});

test("a held job counts what it stored when it is held, its end once, and its replay only its end", async () => {
  open();
  const results: unknown[] = [held("first"), "second"];
  await bench.workers({
    insert: async (_payload, context) => {
      context.stored({ nodes: 7, bytes: 70 });
      return results.shift();
    },
  });
  const client = bench.client();
  const background = bench.background();
  const { id } = await client.submit(request("insert"));
  await until(async () => ((await used()).nodes === 7 ? true : undefined));
  expect(await used()).toMatchObject({ jobs: { insert: { completed: 0 } } });
  const job = { tenant: "ten_a", job: id };
  const error = { code: "model_refused", message: "a text", details: {} } as const;
  const outcomes = [1, 2].map(() => background.held.release(job, { state: "dead", error }));
  expect((await Promise.all(outcomes)).filter(Boolean)).toHaveLength(1);
  const replay = await client.replay("ten_a", id);
  await untilState(client, replay.id, "completed");
  expect(await used()).toMatchObject({ jobs: { insert: { dead: 1, completed: 1 } }, nodes: 7, bytes: 70 });
});

test("tokens are summed over processes, and a step that is sent twice counts once", async () => {
  open();
  const options = { redis: bench.redis.address, settings: bench.settings };
  const meters = [createTokenMeter(options), createTokenMeter(options)];
  for (const meter of meters) {
    meter.spent("ten_a", 10);
    meter.spent("ten_a", 5);
    meter.spent("ten_b", 0);
  }
  await until(async () => ((await used()).modelTokens === 30 ? true : undefined));
  meters[0]?.spent("ten_a", 1);
  await Promise.all(meters.map((meter) => meter.close()));
  expect((await used()).modelTokens).toBe(31);
  const bare = bench.bare();
  const [mark] = await bare.keys(`${bench.settings.prefix}:{ten_a}:usage:mark:*`);
  const base = `${bench.settings.prefix}:{ten_a}:usage`;
  const redis = connectRedis(bench.redis.address, "worker");
  expect(await runScript(redis, "usageSpend", [base, mark!], [1, 10, 60_000])).toBe(0);
  redis.disconnect();
  expect((await used()).modelTokens).toBe(31);
  expect((await used("ten_b")).modelTokens).toBe(0);
});
