/** Rows of the failure table about workers: real processes that are killed, stopped, blocked, poisoned and missed. */
import { expect } from "@jest/globals";
import { once } from "node:events";
import { Redis } from "ioredis";
import { QUEUE_SETTINGS } from "#jobs";
import { until } from "../support/until.js";
import { POISON, type Faults } from "./faults.js";
import { chaosRow, LONG } from "./row.js";
import { systemForRows } from "./system-for-rows.js";
import type { System } from "./system.js";

/** The worst of taking a job over, and starting a process on a busy machine. */
const PATIENCE_MS = 180_000;
const { lockMs, stalledIntervalMs, maxStalledCount } = QUEUE_SETTINGS.insert;

/** Where a row waits for several take-overs. The long form has the product's own times. */
const QUICK: Partial<Faults> = LONG ? {} : { queues: { lockMs: 2_000, stalledIntervalMs: 1_000, retryBaseMs: 300 } };

let system: System;

systemForRows((started) => {
  system = started;
});

const compare = () => system.ledger.compare(system.stores);

/** Has the model keep every batch with this text back until the returned function is called. */
function holdBack(text: string): () => void {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  system.model.misbehaveWhen((texts) =>
    texts.some((each) => each.includes(text)) ? { kind: "slow", release: promise } : undefined,
  );
  return () => {
    system.model.misbehaveWhen(() => undefined);
    resolve(undefined);
  };
}

const isAtTheModel = (text: string): Promise<true> =>
  until(() => system.model.calls.some(({ body }) => JSON.stringify(body).includes(text)) || undefined, PATIENCE_MS);

const attempts = async (job: string): Promise<unknown> =>
  (await system.client.call("GET", `/v1/jobs/${job}`)).body["attempts"];

/** How often each job was taken over, of all that BullMQ still has. */
async function takeOvers(): Promise<readonly number[]> {
  const redis = new Redis({ path: system.redis.address });
  const keys = (await redis.keys("*:default.job_*")).filter((key) => !key.endsWith(":lock"));
  const counts = await Promise.all(keys.map((key) => redis.hget(key, "stc")));
  redis.disconnect();
  return counts.map((count) => Number(count ?? 0)).filter((count) => count > 0);
}

chaosRow({
  name: "worker-stopped",
  holds: "SIGTERM under load drains: every job runs once, and none is left to be taken over",
  rounds: 1,
  compare,
  round: async () => {
    const [worker] = await system.replaceWorkers({});
    const before = (await takeOvers()).length;
    const load = await system.load(6);
    await until(() => system.model.calls.length >= 10 || undefined, PATIENCE_MS);
    await system.startWorker();
    const begun = Date.now();
    expect(await worker?.stop()).toBe(0);
    const stoppedMs = Date.now() - begun;
    await load.stop();
    await system.settle();
    expect((await takeOvers()).length).toBe(before);
    return stoppedMs;
  },
});

chaosRow({
  name: "worker-killed",
  holds: "kill -9 of a worker in the middle of a job: another takes the job over, and its effects happen once",
  rounds: 1,
  promisedMs: lockMs + 2 * stalledIntervalMs,
  compare,
  round: async () => {
    const [worker] = await system.replaceWorkers({});
    const load = await system.load(4);
    const memory = await system.memory();
    const text = `held back in ${memory}`;
    const letGo = holdBack(text);
    const job = await system.write(memory, 1, text);
    await isAtTheModel(text);
    await system.startWorker();
    await worker?.kill();
    const begun = Date.now();
    letGo();
    expect(await system.ended(job)).toBe("completed");
    const recoveredMs = Date.now() - begun;
    expect(await attempts(job)).toBeGreaterThan(1);
    await load.stop();
    await system.settle();
    return recoveredMs;
  },
});

chaosRow({
  name: "loop-blocked",
  holds:
    "a worker whose event loop hangs for longer than its lock: another does the job, and the late one changes nothing",
  rounds: 1,
  compare,
  round: async () => {
    const workers = await system.replaceWorkers(QUICK, QUICK);
    const load = await system.load(2);
    const blockMs = LONG ? lockMs + 3 * stalledIntervalMs : 6_000;
    await system.order(`block-${blockMs}`);
    const memory = await system.memory();
    const begun = Date.now();
    const job = await system.write(memory, 1, `block the loop for ${blockMs} in ${memory}`);
    expect(await system.ended(job)).toBe("completed");
    expect(await attempts(job)).toBeGreaterThan(1);
    const recoveredMs = Date.now() - begun;
    // Both live: the late one has embedded its text too by the time it can be stopped.
    await load.stop();
    await system.settle();
    expect(await Promise.all(workers.map((worker) => worker.stop()))).toEqual([0, 0]);
    return recoveredMs;
  },
});

chaosRow({
  name: "poison-job",
  holds:
    "a job that ends its process has its bounded number of runs and a dead letter; those beside it each time complete",
  rounds: 1,
  compare,
  round: async () => {
    await system.replaceWorkers();
    const letGo = holdBack("neighbour");
    const neighbours = await Promise.all(
      Array.from({ length: 8 }, async () => {
        const memory = await system.memory();
        return system.write(memory, 1, `neighbour ${memory}`);
      }),
    );
    const poison = await system.write(await system.memory(), 1, `this is ${POISON}`);
    system.ledger.giveUp(poison);
    const begun = Date.now();
    for (let deaths = 0; deaths <= maxStalledCount; deaths += 1) {
      // Slow jobs run beside the poison until there is one run left.
      if (deaths === maxStalledCount) letGo();
      const worker = await system.startWorker(QUICK);
      await once(worker.channel, "exit");
    }
    await system.startWorker(QUICK);
    expect(await system.ended(poison)).toBe("dead");
    const recoveredMs = Date.now() - begun;
    for (const job of neighbours) expect(await system.ended(job)).toBe("completed");
    const letters = await system.client.call("GET", "/v1/dead-letters");
    const letter = letters.body.items.find(({ id }) => id === poison);
    expect(letter).toMatchObject({
      state: "dead",
      error: { code: "internal", detail: expect.stringMatching(/taken over/) },
    });
    await system.settle();
    return recoveredMs;
  },
});

chaosRow({
  name: "workers-absent",
  holds: "no worker for a while: what is queued, delayed or left by a dead worker runs when there is one again",
  rounds: 1,
  compare,
  round: async () => {
    const [worker] = await system.replaceWorkers({ queues: { ...QUICK.queues, retryBaseMs: 8_000 } });
    // One that waits for its next attempt, one in the middle of a run when its worker dies, and those that nobody took.
    const [delayedIn, stalledIn] = [await system.memory(), await system.memory()];
    system.model.misbehaveWhen((texts) => (texts.join().includes(delayedIn) ? { kind: "not json" } : undefined));
    const delayed = await system.write(delayedIn, 1);
    await until(async () => (await system.waitsAgain(delayed)) || undefined, PATIENCE_MS);
    const letGo = holdBack(stalledIn);
    const stalled = await system.write(stalledIn, 1);
    await isAtTheModel(stalledIn);
    await worker?.kill();
    const load = await system.load(4);
    await system.writesGoOn(40);
    await load.stop();
    expect([await system.state(delayed), await system.state(stalled)]).toEqual(["queued", "active"]);
    letGo();
    await system.startWorker(QUICK);
    const begun = Date.now();
    await system.settle();
    return Date.now() - begun;
  },
});
