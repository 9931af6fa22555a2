/** Rows of the failure table about the queue: Redis that dies or is full, and processes that die between two steps of admission. */
import { once } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import { expect } from "@jest/globals";
import { Redis } from "ioredis";
import type { Answer } from "../support/api-client.js";
import { until } from "../support/until.js";
import { DIE_AT_ADD } from "./faults.js";
import { chaosRow, LONG } from "./row.js";
import { systemForRows } from "./system-for-rows.js";
import type { System } from "./system.js";

const PATIENCE_MS = 120_000;

let system: System;

systemForRows((started) => {
  system = started;
});

const compare = () => system.ledger.compare(system.stores);

/** A write that is refused with a 503 and a time to come back. It must not happen. */
async function refused(memory: string): Promise<void> {
  system.ledger.watch(memory);
  const answer = await until(async (): Promise<Answer | undefined> => {
    const body = { tree: { type: "Entry", attributes: { text: "refused", number: 0 } } };
    const tried = await system.client.call("POST", `/v1/memories/${memory}/insert`, { body });
    return tried.status === 503 ? tried : undefined;
  }, PATIENCE_MS);
  expect(answer.body.code).toBe("queue_unavailable");
  expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(0);
}

for (const seconds of LONG ? [5, 15, 60] : [5]) {
  chaosRow({
    name: `redis-killed-${seconds}s`,
    holds: `Redis is killed and away for ${seconds} s: writes are refused, then everything goes on by itself`,
    rounds: 1,
    promisedMs: 10_000,
    compare,
    round: async () => {
      await system.replaceWorkers({}, {});
      const load = await system.load(4);
      await system.writesGoOn(20);
      const memory = await system.memory();
      await system.redis.kill();
      const back = pause(seconds * 1_000);
      await refused(memory);
      await back;
      await system.redis.start();
      const recoveredMs = await system.worksAgain();
      await load.stop();
      await system.settle();
      return recoveredMs;
    },
  });
}

chaosRow({
  name: "redis-full",
  holds: "Redis has no room: writes are refused with 503, and everything goes on by itself when there is some again",
  rounds: 1,
  promisedMs: 10_000,
  compare,
  round: async () => {
    await system.replaceWorkers({});
    const load = await system.load(4);
    await system.writesGoOn(20);
    const memory = await system.memory();
    const redis = new Redis({ path: system.redis.address });
    try {
      await redis.config("SET", "maxmemory", "1mb");
      for (let count = 0; count < 10; count += 1) await refused(memory);
      await pause(LONG ? 30_000 : 2_000);
    } finally {
      await redis.config("SET", "maxmemory", "0");
      redis.disconnect();
    }
    const recoveredMs = await system.worksAgain();
    await load.stop();
    await system.settle();
    return recoveredMs;
  },
});

chaosRow({
  name: "dispatcher-killed",
  holds: "a process dies between taking a job out of its lane and adding it to its queue: another adds it, once",
  rounds: 1,
  compare,
  round: async () => {
    const [worker] = await system.replaceWorkers({});
    const load = await system.load(2);
    await system.writesGoOn(10);
    await load.stop();
    await system.settle();
    // Nothing waits, so that it is the API that adds the next job.
    await system.order(DIE_AT_ADD);
    const memories = [await system.memory(), await system.memory()] as const;
    const write = system.write(memories[0], 1);
    await system.replaceApi();
    expect(await system.ended(await write)).toBe("completed");
    // The second waits behind the first, whose end is the worker's to tell.
    const { promise: release, resolve: letGo } = Promise.withResolvers<undefined>();
    system.model.misbehaveWhen((texts) => (texts.join().includes(memories[1]) ? { kind: "slow", release } : undefined));
    await system.write(memories[1], 1);
    const behind = await system.write(memories[1], 2);
    await system.order(DIE_AT_ADD);
    const begun = Date.now();
    const died = once(worker!.channel, "exit");
    letGo(undefined);
    await died;
    await system.startWorker();
    expect(await system.ended(behind)).toBe("completed");
    const recoveredMs = Date.now() - begun;
    await system.settle();
    return recoveredMs;
  },
});

chaosRow({
  name: "api-killed",
  holds: "kill -9 of the API under load: what was acknowledged happens once, and so does what clients repeat",
  rounds: 2,
  compare,
  round: async () => {
    await system.replaceWorkers({});
    const load = await system.load(6);
    await system.writesGoOn(15);
    await system.killApi();
    const begun = Date.now();
    await system.replaceApi();
    await system.worksAgain();
    const recoveredMs = Date.now() - begun;
    await system.writesGoOn(15);
    await load.stop();
    await system.settle();
    return recoveredMs;
  },
});
