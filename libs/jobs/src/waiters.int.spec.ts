import { afterAll, afterEach, beforeAll, expect, test } from "@jest/globals";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { until } from "../../../test/support/until.js";
import { openJobBench, request, type JobBench } from "./testing/job-bench.js";

const WAITERS = 5_000;

/** 5,000 jobs on a machine that is busy with other suites. */
const PATIENCE_MS = 60_000;

/** Bytes of heap that one waiter may take; it takes about 3 KB. */
const WAITER_BYTES = 20 * 1024;

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

/** Bytes of the heap that are still needed. */
function heapBytes(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed;
}

let bench: JobBench;
beforeAll(async () => {
  bench = await openJobBench();
});
afterEach(() => bench.reset());
afterAll(() => bench.close());

test("5,000 idle waiters of one process share its connections, take little memory, and hear of their ends", async () => {
  const client = bench.client({ callTimeoutMs: PATIENCE_MS });
  const bare = bench.bare();
  await client.ping();
  const connections = async (): Promise<number> =>
    String(await bare.client("LIST"))
      .trim()
      .split("\n").length;
  const [before, heap] = [await connections(), heapBytes()];
  const abort = new AbortController();
  const waits = Array.from({ length: WAITERS }, () => client.submitAndWait(request("maintain"), 600_000, abort.signal));
  const list = `${bench.settings.prefix}:{ten_a}:jobs`;
  await until(async () => ((await bare.zcard(list)) === WAITERS ? true : undefined), PATIENCE_MS);
  expect(await connections()).toBe(before);
  expect(heapBytes() - heap).toBeLessThan(WAITERS * WAITER_BYTES);
  await bench.workers({ query: async () => "answer" });
  expect(await client.submitAndWait(request("query"), PATIENCE_MS)).toMatchObject({
    state: "completed",
    result: "answer",
  });
  const [first] = await client.list("ten_a", { kind: "maintain", limit: 1 });
  await client.cancel("ten_a", first!.id);
  expect((await Promise.race(waits)).state).toBe("cancelled");
  abort.abort();
  const ends = await Promise.all(waits);
  expect(ends.filter(({ state }) => state === "queued")).toHaveLength(WAITERS - 1);
}, 180_000);
