/** Rows of the failure table about workers: real processes that are killed, stopped, blocked, poisoned and missed. */
import { afterAll, afterEach, beforeAll, expect } from "@jest/globals";
import { Redis } from "ioredis";
import { QUEUE_SETTINGS } from "#jobs";
import { until } from "../support/until.js";
import type { WorkerProcess } from "../support/worker.js";
import { chaosRow } from "./row.js";
import { startSystem, type System } from "./system.js";

/** The worst of taking a job over, and starting a process on a busy machine. */
const PATIENCE_MS = 120_000;
const { lockMs, stalledIntervalMs } = QUEUE_SETTINGS.insert;

let system: System;
let worker: WorkerProcess;

beforeAll(async () => {
  system = await startSystem();
  worker = await system.startWorker();
}, PATIENCE_MS);

afterEach(() => {
  system.model.reset();
});

afterAll(() => system.close());

const compare = () => system.ledger.compare(system.stores);

const ended = (job: string): Promise<string> =>
  until(async () => {
    const state = await system.state(job);
    return ["queued", "active"].includes(state) ? undefined : state;
  }, PATIENCE_MS);

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

/** Jobs that were ever taken over from a worker, of all queues. */
async function takenOver(): Promise<number> {
  const redis = new Redis({ path: system.redis.address });
  const keys = (await redis.keys("*:default.job_*")).filter((key) => !key.endsWith(":lock"));
  const counts = await Promise.all(keys.map((key) => redis.hget(key, "stc")));
  redis.disconnect();
  return counts.filter((count) => Number(count ?? 0) > 0).length;
}

chaosRow({
  name: "worker-stopped",
  holds: "SIGTERM under load drains: every job runs once, and none is left to be taken over",
  rounds: 1,
  compare,
  round: async () => {
    const before = await takenOver();
    const load = await system.load(6);
    await until(() => system.model.calls.length >= 10 || undefined, PATIENCE_MS);
    const next = await system.startWorker();
    const begun = Date.now();
    expect(await worker.stop()).toBe(0);
    const stoppedMs = Date.now() - begun;
    worker = next;
    await load.stop();
    await system.settle();
    expect((await takenOver()) - before).toBe(0);
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
    const load = await system.load(4);
    const memory = await system.memory();
    const text = `held back in ${memory}`;
    const letGo = holdBack(text);
    const job = await system.write(memory, 1, text);
    await isAtTheModel(text);
    const next = await system.startWorker();
    await worker.kill();
    const begun = Date.now();
    worker = next;
    letGo();
    expect(await ended(job)).toBe("completed");
    const recoveredMs = Date.now() - begun;
    expect((await system.client.call("GET", `/v1/jobs/${job}`)).body["attempts"]).toBeGreaterThan(1);
    await load.stop();
    await system.settle();
    return recoveredMs;
  },
});
