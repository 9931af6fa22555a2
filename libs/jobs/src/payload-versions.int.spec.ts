import { setTimeout as pause } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, expect, test } from "@jest/globals";
import { EspalierError, LIMITS } from "#core";
import type { JobSettings } from "./settings.js";
import { openJobBench, request, until, untilState, type JobBench } from "./testing/job-bench.js";
import type { RunReport } from "./run-job.js";

let bench: JobBench;
beforeAll(async () => {
  bench = await openJobBench();
});
afterEach(() => bench.reset());
afterAll(() => bench.close());

/** The next release: inserts have `{ text }` where they had a string. */
const next: Pick<JobSettings, "upgrades"> = { upgrades: { insert: [(text) => ({ text })] } };

async function startOld(ran: unknown[], onRun: (report: RunReport) => void = () => undefined): Promise<void> {
  await bench.workers({ insert: async (payload) => ran.push(payload) }, { onRun });
}

async function startNew(ran: unknown[]): Promise<void> {
  await bench.workers({ insert: async (payload) => ran.push(payload) }, { settings: { ...bench.settings, ...next } });
}

test("a new worker reads the payloads of an old release as its own", async () => {
  const ran: unknown[] = [];
  await startNew(ran);
  const [older, newer] = [bench.client(), bench.client(next)];
  await older.submitAndWait(request("insert", "old"), 5_000);
  await newer.submitAndWait(request("insert", { text: "new" }), 5_000);
  expect(ran).toEqual([{ text: "old" }, { text: "new" }]);
});

test("an old worker gives newer payloads back, without an attempt, until a new worker takes them", async () => {
  const [oldRan, newRan, reports]: [unknown[], unknown[], RunReport[]] = [[], [], []];
  await startOld(oldRan, (report) => reports.push(report));
  const { id } = await bench.client(next).submit(request("insert", { text: "new" }));
  await until(() => reports.some(({ outcome }) => outcome === "requeued"));
  expect(await bench.client().get("ten_a", id)).toMatchObject({ state: "queued", attempts: 0 });
  // Others are not held up by it.
  const old = await bench.client().submitAndWait(request("insert", "old", { memory: "mem_2" }), 5_000);
  expect(old.state).toBe("completed");
  await startNew(newRan);
  await untilState(bench.client(), id, "completed");
  expect({ oldRan, newRan }).toEqual({ oldRan: ["old"], newRan: [{ text: "new" }] });
});

test("many newer payloads leave an old worker time for its own", async () => {
  const reports: RunReport[] = [];
  await startOld([], (report) => reports.push(report));
  const [newer, older] = [bench.client(next), bench.client()];
  const payloads = Array.from({ length: 30 }, (_, index) => ({ memory: `mem_${index}` }));
  await Promise.all(payloads.map((of) => newer.submit(request("insert", { text: "new" }, of))));
  await until(() => reports.length > payloads.length);
  for (let count = 0; count < 10; count += 1) {
    const own = await older.submitAndWait(request("insert", "old", { memory: "mem_old" }), 10_000);
    expect(own.state).toBe("completed");
  }
});

test.each([1, 4])("between old workers with %d jobs at once, a new one soon gets its own", async (concurrency) => {
  const [newRan, reports]: [unknown[], RunReport[]] = [[], []];
  const options = { concurrency: { insert: concurrency }, onRun: (report: RunReport) => reports.push(report) };
  for (let old = 0; old < 2; old++) await bench.workers({ insert: async () => undefined }, options);
  const client = bench.client(next);
  const { id } = await client.submit(request("insert", "first"));
  await until(() => reports.length > 4);
  await startNew(newRan);
  await untilState(client, id, "completed");
  for (let job = 0; job < 10; job++) {
    expect((await client.submitAndWait(request("insert", job), 20_000)).state).toBe("completed");
  }
  expect(newRan).toHaveLength(11);
  // By luck each of three would be tried for a job as often as the others; an order that is unfair tries 10 and more.
  expect(reports.length).toBeLessThan(60);
});

test("a new worker gets its own beside an old one that is busy", async () => {
  const reports: RunReport[] = [];
  const concurrency = { insert: 4 };
  const busy = async (): Promise<void> => pause(5);
  await bench.workers({ insert: busy }, { concurrency, onRun: (report) => reports.push(report) });
  const [older, newer] = [bench.client(), bench.client(next)];
  let over = false;
  const load = Array.from({ length: 12 }, async (_, writer) => {
    while (!over) await older.submitAndWait(request("insert", "old", { memory: `mem_${writer}` }), 10_000);
  });
  const newRan: unknown[] = [];
  await startNew(newRan);
  for (let job = 0; job < 10; job += 1) {
    expect((await newer.submitAndWait(request("insert", { text: job }, { memory: "mem_new" }), 20_000)).state).toBe(
      "completed",
    );
  }
  over = true;
  await Promise.all(load);
  const handedOn = reports.filter(({ outcome }) => outcome === "requeued").length;
  expect(newRan).toEqual(expect.arrayContaining(Array.from({ length: 10 }, (_, job) => ({ text: job }))));
  // By turns it would be ten; where the old one always is the first to ask, a job is tried a second long, again and again.
  expect(handedOn).toBeLessThan(40);
});

test.each([
  ["small", "text"],
  ["large", "x".repeat(LIMITS.payloadBytes + 1)],
])("a replay of a %s payload has the version of the job that failed", async (_size, text) => {
  const refuse = async (): Promise<never> => {
    throw new EspalierError("invalid_request", "no");
  };
  const failing = await bench.workers({ insert: refuse }, { settings: { ...bench.settings, ...next } });
  const newer = bench.client(next);
  const older = await bench.client().submitAndWait(request("insert", text), 5_000);
  const newest = await newer.submitAndWait(request("insert", { text }), 5_000);
  await failing.close({ drainMs: 1_000, giveBackMs: 100 });
  const ran: unknown[] = [];
  await startNew(ran);
  // By the other release each.
  for (const [client, { id }] of [[newer, older] as const, [bench.client(), newest] as const]) {
    const replay = await client.replay("ten_a", id);
    await untilState(client, replay.id, "completed");
  }
  expect(ran).toEqual([{ text }, { text }]);
});
