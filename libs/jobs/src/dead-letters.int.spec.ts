import { afterAll, afterEach, beforeAll, expect, test } from "@jest/globals";
import { EspalierError, LIMITS } from "#core";
import { openJobBench, request, untilState, type JobBench } from "./testing/job-bench.js";
import type { JobClient, JobContext, JobRecord } from "./types.js";

let bench: JobBench;
beforeAll(async () => {
  bench = await openJobBench();
});
afterEach(() => bench.reset());
afterAll(() => bench.close());

const down = (message: string): EspalierError => new EspalierError("store_unavailable", message);

/** A worker whose inserts fail until `mended`, each time with another message. */
async function failingWorker(mended: { yes: boolean }): Promise<readonly JobContext[]> {
  const runs: JobContext[] = [];
  await bench.workers({
    insert: async (payload, context) => {
      runs.push(context);
      if (!mended.yes) throw down(`failure ${runs.length}`);
      return payload;
    },
  });
  return runs;
}

const buried = async (client: JobClient, payload: unknown = { tree: 1 }): Promise<JobRecord> => {
  const { id } = await client.submit(request("insert", payload));
  return untilState(client, id, "dead");
};

test("a job that is given up is a dead letter with its first and its last error, and replaying it does its work", async () => {
  const mended = { yes: false };
  const runs = await failingWorker(mended);
  const client = bench.client();
  const letter = await buried(client);
  expect(letter).toMatchObject({ attempts: 5, firstError: { message: "failure 1" }, error: { message: "failure 5" } });
  expect(await client.deadLetters("ten_a", { limit: 10 })).toMatchObject([{ id: letter.id, attempts: 5 }]);
  expect(await client.deadLetters("ten_b", { limit: 10 })).toEqual([]);
  mended.yes = true;
  const replay = await client.replay("ten_a", letter.id);
  expect(replay).toMatchObject({ replayOf: letter.id, memory: "mem_1", kind: "insert" });
  expect(await untilState(client, replay.id, "completed")).toMatchObject({ result: { tree: 1 }, attempts: 1 });
  expect(runs.at(-1)).toMatchObject({ id: replay.id, effectId: letter.id });
  expect(await client.get("ten_a", letter.id)).toMatchObject({ state: "dead", replayedAs: replay.id });
  expect(await client.deadLetters("ten_a", { limit: 10 })).toEqual([]);
});

test("a replay that finds no place is none: the letter stays one, and replays when there is room", async () => {
  await failingWorker({ yes: false });
  const client = bench.client();
  const letter = await buried(client);
  const narrow = bench.client({}, async () => ({ queuedJobs: 0 }));
  await expect(narrow.replay("ten_a", letter.id)).rejects.toMatchObject({ code: "queue_full" });
  expect(await client.get("ten_a", letter.id)).not.toHaveProperty("replayedAs");
  expect(await client.deadLetters("ten_a", { limit: 10 })).toMatchObject([{ id: letter.id }]);
  expect(await client.list("ten_a", { limit: 10 })).toHaveLength(1);
  expect(await client.replay("ten_a", letter.id)).toMatchObject({ replayOf: letter.id });
});

test("a letter that is replayed many times at once is one job, and the replay of a replay has the first job's effects", async () => {
  const mended = { yes: false };
  const runs = await failingWorker(mended);
  const clients = [bench.client(), bench.client()];
  const letter = await buried(clients[0]!);
  const replays = await Promise.all(Array.from({ length: 20 }, (_, at) => clients[at % 2]!.replay("ten_a", letter.id)));
  const [id] = new Set(replays.map((replay) => replay.id));
  expect(replays.map((replay) => replay.id)).toEqual(replays.map(() => id));
  await untilState(clients[0]!, id!, "dead");
  mended.yes = true;
  const again = await clients[1]!.replay("ten_a", id!);
  await untilState(clients[0]!, again.id, "completed");
  expect(runs.at(-1)).toMatchObject({ id: again.id, effectId: letter.id });
});

test("a replay that died before it was submitted is made up for by the next", async () => {
  const mended = { yes: false };
  await failingWorker(mended);
  const client = bench.client();
  const letter = await buried(client);
  await bench.bare().hset(`${bench.settings.prefix}:{ten_a}:status:${letter.id}`, "replayedAs", "job_chosen");
  mended.yes = true;
  expect(await client.replay("ten_a", letter.id)).toMatchObject({ id: "job_chosen" });
  await untilState(client, "job_chosen", "completed");
});

test("a replay that is not kept any more was the only one", async () => {
  const runs = await failingWorker({ yes: false });
  const client = bench.client();
  const letter = await buried(client);
  const replay = await client.replay("ten_a", letter.id);
  await untilState(client, replay.id, "dead");
  const made = runs.length;
  await bench.bare().del(`${bench.settings.prefix}:{ten_a}:status:${replay.id}`);
  await expect(client.replay("ten_a", letter.id)).rejects.toMatchObject({ code: "job_not_found" });
  expect(runs).toHaveLength(made);
});

test("a letter whose payload is gone is still one, and says so", async () => {
  await failingWorker({ yes: false });
  const client = bench.client();
  const letter = await buried(client);
  await bench.bare().hdel(`${bench.settings.prefix}:{ten_a}:status:${letter.id}`, "payload");
  await expect(client.replay("ten_a", letter.id)).rejects.toMatchObject({ code: "job_not_found" });
  expect(await client.get("ten_a", letter.id)).not.toHaveProperty("replayedAs");
  expect(await client.deadLetters("ten_a", { limit: 10 })).toMatchObject([{ id: letter.id }]);
});

test("a payload that is kept by reference is there for the replay", async () => {
  const mended = { yes: false };
  await failingWorker(mended);
  const client = bench.client();
  const tree = "x".repeat(LIMITS.payloadBytes);
  const letter = await buried(client, { tree });
  mended.yes = true;
  const { id } = await client.replay("ten_a", letter.id);
  expect(await untilState(client, id, "completed")).toMatchObject({ result: { tree } });
});

test("what failed for good can be replayed too; what did not fail, or is another tenant's, cannot", async () => {
  let mended = false;
  await bench.workers({
    insert: async () => {
      if (!mended) throw new EspalierError("invalid_request", "no");
    },
    query: async () => 1,
  });
  const client = bench.client();
  const failed = await client.submitAndWait(request("insert"), 5_000);
  expect(failed.state).toBe("failed");
  expect(await client.deadLetters("ten_a", { limit: 10 })).toEqual([]);
  mended = true;
  const { id } = await client.replay("ten_a", failed.id);
  await untilState(client, id, "completed");
  await expect(client.replay("ten_a", id)).rejects.toMatchObject({ code: "job_not_failed" });
  await expect(client.replay("ten_b", failed.id)).rejects.toMatchObject({ code: "job_not_found" });
  await expect(client.replay("ten_a", "job_none")).rejects.toMatchObject({ code: "job_not_found" });
});

test("letters come latest first, page by page, of a memory or a kind", async () => {
  await failingWorker({ yes: false });
  const client = bench.client();
  const ids: string[] = [];
  for (const memory of ["mem_1", "mem_2", "mem_1"]) {
    const { id } = await client.submit(request("insert", {}, { memory }));
    await untilState(client, id, "dead");
    ids.unshift(id);
  }
  const page = async (more: object): Promise<readonly string[]> =>
    (await client.deadLetters("ten_a", { limit: 2, ...more })).map(({ id }) => id);
  expect(await page({})).toEqual(ids.slice(0, 2));
  expect(await page({ after: ids[1] })).toEqual(ids.slice(2));
  expect(await page({ memory: "mem_2" })).toEqual([ids[1]]);
  expect(await page({ kind: "maintain" })).toEqual([]);
});
