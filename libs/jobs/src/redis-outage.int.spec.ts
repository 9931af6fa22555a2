import { setTimeout as pause } from "node:timers/promises";
import { readdir, stat, truncate } from "node:fs/promises";
import { dirname, join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, test } from "@jest/globals";
import { EspalierError, randomId, systemClock } from "#core";
import { Worker } from "bullmq";
import { createJobClient } from "./job-client.js";
import { jobKeys } from "./keys.js";
import { requeueActive } from "./requeue-active.js";
import { openJobBench, request, until, untilState, type JobBench } from "./testing/job-bench.js";

let bench: JobBench;
beforeAll(async () => {
  bench = await openJobBench();
});
afterEach(async () => {
  bench.redis.thaw();
  await bench.redis.start();
  await bench.bare().config("SET", "maxmemory", "0");
  await bench.reset();
});
afterAll(() => bench.close());

const down = { code: "queue_unavailable" };

test("with Redis down at the start a client answers that the queue is away, soon, and recovers by itself", async () => {
  await bench.redis.kill();
  const client = bench.client();
  const begun = Date.now();
  await expect(client.submit(request("insert"))).rejects.toMatchObject(down);
  await expect(client.ping()).rejects.toMatchObject(down);
  await expect(client.counts()).rejects.toMatchObject(down);
  expect(Date.now() - begun).toBeLessThan(4 * bench.settings.callTimeoutMs);
  await bench.redis.start();
  const record = await until(async () => {
    try {
      return await client.submit(request("insert"));
    } catch (error) {
      expect(error).toMatchObject(down);
      return undefined;
    }
  });
  // What was refused did not happen later.
  expect(await client.counts()).toMatchObject({ insert: { waiting: 1 } });
  expect((await client.list("ten_a", { limit: 10 })).map(({ id }) => id)).toEqual([record.id]);
});

test("a client that never had a Redis closes at once", async () => {
  const options = { redis: "/nowhere/redis.sock", payloadStore: bench.payloads, clock: systemClock, ids: randomId };
  const client = createJobClient({ ...options, settings: bench.settings });
  await expect(client.ping()).rejects.toMatchObject(down);
  await client.close();
});

test("a Redis that does not answer is away after the time-out", async () => {
  const client = bench.client({ callTimeoutMs: 200 });
  await client.ping();
  bench.redis.freeze();
  await expect(client.submit(request("insert"))).rejects.toMatchObject(down);
  await expect(client.submitAndWait(request("query"), 5_000)).rejects.toMatchObject(down);
  bench.redis.thaw();
  await until(() =>
    client.ping().then(
      () => true,
      () => false,
    ),
  );
});

test("what a process could not send in time does not come after all", async () => {
  const { batch } = bench.settings.lanes;
  const lanes = { ...bench.settings.lanes, batch: { ...batch, submits: 1 } };
  const client = bench.client({ callTimeoutMs: 200, lanes });
  await client.ping();
  bench.redis.freeze();
  const memories = ["mem_1", "mem_2", "mem_3"];
  const submits = memories.map((memory) => client.submit(request("insert", {}, { memory })));
  for (const submit of submits) await expect(submit).rejects.toMatchObject(down);
  bench.redis.thaw();
  await until(() => client.submit(request("insert", {}, { memory: "mem_4" })).catch(() => undefined));
  const known = (await client.list("ten_a", { limit: 10 })).map(({ memory }) => memory);
  expect(known).toContain("mem_4");
  expect(known).not.toContain("mem_3");
});

test("a submit whose answer died with Redis does not hold up those that follow", async () => {
  const client = bench.client({ callTimeoutMs: 200 });
  await client.ping();
  bench.redis.freeze();
  await expect(client.submit(request("insert"))).rejects.toMatchObject(down);
  await bench.redis.kill();
  await bench.redis.start();
  const record = await until(() => client.submit(request("insert")).catch(() => undefined));
  expect(record).toMatchObject({ state: "queued" });
});

test("a full Redis answers that the queue is away, and takes jobs again when there is room", async () => {
  const client = bench.client();
  const bare = bench.bare();
  await bare.config("SET", "maxmemory", "1mb");
  await expect(client.submit(request("insert"))).rejects.toMatchObject(down);
  await bare.config("SET", "maxmemory", "0");
  expect(await client.submit(request("insert"))).toMatchObject({ state: "queued" });
});

test("a job whose attempts were spent on a full Redis runs when there is room", async () => {
  const queues = { ...bench.settings.queues, insert: { ...bench.settings.queues.insert, attempts: 1 } };
  const client = bench.client({ queues });
  const bare = bench.bare();
  const [gate, trouble] = [Promise.withResolvers<string>(), Promise.withResolvers<Error>()];
  await bench.workers({ insert: () => gate.promise }, { onError: trouble.resolve });
  const { id } = await client.submit(request("insert"));
  await untilState(client, id, "active");
  await bare.config("SET", "maxmemory", "1mb");
  gate.resolve("run");
  // Neither its end nor its failure can be written.
  expect((await trouble.promise).message).toContain("OOM");
  await bare.config("SET", "maxmemory", "0");
  expect(await untilState(client, id, "completed")).toMatchObject({ result: "run" });
});

test("a job that has a place and no status is taken back: who submitted it is told that there is none", async () => {
  const client = bench.client();
  const bare = bench.bare();
  const list = `${bench.settings.prefix}:{ten_a}:jobs`;
  await bare.set(list, "not a sorted set");
  await expect(client.submit(request("insert"))).rejects.toMatchObject(down);
  await bare.del(list);
  expect(await client.counts()).toMatchObject({ insert: { waiting: 0 } });
  expect(await client.backlog()).toMatchObject({ batch: { jobs: 0 } });
  // Its memory is free for the next.
  await bench.workers({ insert: async () => "next" });
  expect(await client.submitAndWait(request("insert"), 5_000)).toMatchObject({ state: "completed" });
});

test("a job that its lane refuses leaves no status behind", async () => {
  const client = bench.client();
  const bare = bench.bare();
  const waiting = `{${bench.settings.prefix}-lane-batch}:envelopes`;
  await bare.set(waiting, "not a hash");
  await expect(client.submit(request("insert"))).rejects.toMatchObject(down);
  await until(async () => (await client.list("ten_a", { limit: 10 })).length === 0);
  await bare.del(waiting);
  expect(await client.submit(request("insert"))).toMatchObject({ state: "queued" });
});

test("a waiter survives an outage: the job's end reaches it after Redis is back", async () => {
  const answer = Promise.withResolvers<string>();
  await bench.workers({ insert: () => answer.promise });
  const client = bench.client();
  const waiting = client.submitAndWait(request("insert"), 10_000);
  const id = await until(async () => (await client.list("ten_a", { limit: 1, states: ["active"] }))[0]?.id);
  await bench.redis.kill();
  answer.resolve("through the outage");
  await bench.redis.start();
  expect(await waiting).toMatchObject({ id, state: "completed", result: "through the outage" });
});

test("workers resume after an outage, and no acknowledged job is lost", async () => {
  const effects = new Map<string, number>();
  const gate = Promise.withResolvers<undefined>();
  await bench.workers({
    insert: async (_payload, { id }) => {
      await gate.promise;
      effects.set(id, (effects.get(id) ?? 0) + 1);
    },
  });
  const client = bench.client();
  const ids = (await Promise.all(Array.from({ length: 80 }, () => client.submit(request("insert"))))).map(
    ({ id }) => id,
  );
  await bench.redis.kill();
  gate.resolve(undefined);
  await bench.redis.start();
  for (const id of ids) await untilState(client, id, "completed");
  expect([...effects.keys()].sort()).toEqual([...ids].sort());
});

test("a worker sweeps on after a connection that ended under a sweep", async () => {
  await bench.workers({ insert: async () => undefined });
  const workers = `${jobKeys(bench.settings.prefix).lane("batch")}:workers`;
  const bare = bench.bare();
  const registered = async (): Promise<true | undefined> => (await bare.zcard(workers)) > 0 || undefined;
  await until(registered);
  bench.redis.freeze();
  await pause(4 * bench.settings.sweepMs);
  await bench.redis.kill();
  await bench.redis.start();
  await bare.del(workers);
  await until(registered);
});

test("a job whose end Redis took and lost in a crash ends again", async () => {
  const folder = join(dirname(bench.redis.address), "appendonlydir");
  const [log = ""] = (await readdir(folder)).filter((name) => name.endsWith(".incr.aof"));
  const path = join(folder, log);
  let [runs, kept] = [0, 0];
  let crash: Promise<void> | undefined;
  await bench.workers(
    {
      insert: async () => {
        runs += 1;
        kept = (await stat(path)).size;
        return runs;
      },
    },
    {
      // The status says that it has ended; its place in the lane is being given up.
      onRun: () => {
        if (crash !== undefined) return;
        bench.redis.freeze();
        crash = bench.redis
          .kill()
          .then(() => truncate(path, kept))
          .then(() => bench.redis.start());
      },
    },
  );
  const client = bench.client();
  const { id } = await client.submit(request("insert"));
  await until(() => crash !== undefined);
  await crash;
  expect(await untilState(client, id, "completed")).toMatchObject({ id });
  const next = await client.submitAndWait(request("insert"), 10_000);
  expect(next.state).toBe("completed");
});

/** Takes the next insert as a worker that then dies without a word: the job stays active, its lock stays. */
async function takeAndDie(): Promise<void> {
  const { promise: taken, resolve } = Promise.withResolvers<undefined>();
  const take = (): Promise<never> => {
    resolve(undefined);
    return new Promise<never>(() => undefined);
  };
  const worker = new Worker("insert", take, {
    connection: bench.bare(),
    prefix: `{${bench.settings.prefix}-insert}`,
    lockDuration: 60_000,
    stalledInterval: 200,
  });
  await taken;
  await worker.close(true);
}

test("what a dead worker had active is given back at once", async () => {
  const client = bench.client();
  const { id } = await client.submit(request("insert"));
  await takeAndDie();
  expect(await client.counts()).toMatchObject({ insert: { active: 1, waiting: 0 } });
  expect(await requeueActive(bench.redis.address, { settings: bench.settings })).toBe(1);
  expect(await client.counts()).toMatchObject({ insert: { active: 0, waiting: 1 } });
  await bench.workers({ insert: async () => "by the next" });
  expect(await untilState(client, id, "completed")).toMatchObject({ result: "by the next", attempts: 2 });
  expect(await requeueActive(bench.redis.address, { settings: bench.settings })).toBe(0);
});

test("a job that kills its worker each time ends as dead, also when it is given back at once", async () => {
  const client = bench.client();
  const { id } = await client.submit(request("insert"));
  for (let death = 1; death <= 3; death++) {
    await takeAndDie();
    await requeueActive(bench.redis.address, { settings: bench.settings });
  }
  await bench.workers({ insert: async () => "never" });
  expect(await untilState(client, id, "dead")).toMatchObject({ error: { code: "internal" } });
});

test("giving back without a Redis fails instead of waiting", async () => {
  await expect(requeueActive("/nowhere/redis.sock")).rejects.toThrow(/ENOENT|connect|closed/i);
});

test("only what the registry calls unavailable is told of Redis", async () => {
  const client = bench.client();
  const error: unknown = await client.get("ten_a", "job_unknown").catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(EspalierError);
  expect(error).toMatchObject({ code: "job_not_found" });
});
