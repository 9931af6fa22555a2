import { randomId, systemClock } from "#core";
import { Redis } from "ioredis";
import { startRedis, type TestRedis } from "../../../../test/support/redis.js";
import { createBackground, type Background } from "../background/create-background.js";
import type { NamedHandler } from "../check-handlers.js";
import { createJobClient, type JobClientOptions, type QueueAges } from "../job-client.js";
import { JOB_NAMES, queuesOf } from "../job-names.js";
import { startJobWorkers, type JobWorkers, type JobWorkersOptions } from "../job-workers.js";
import { JOB_SETTINGS, type JobSettings } from "../settings.js";
import type { JobClient, JobHandler, JobKind, JobRecord, PayloadStore, SubmitRequest } from "../types.js";

/** A Redis with clients and workers that a test starts on it; closing it ends them all. */
export interface JobBench {
  readonly redis: TestRedis;
  readonly payloads: MemoryPayloads;
  /** Settings with short times, under a prefix that no other test has. */
  readonly settings: JobSettings;
  client(settings?: Partial<JobSettings>, limits?: JobClientOptions["limits"]): JobClient & QueueAges;
  background(settings?: Partial<JobSettings>): Background;
  workers(handlers: Readonly<Record<string, JobHandler>>, options?: Partial<JobWorkersOptions>): Promise<JobWorkers>;
  /** A bare connection, to look at keys. */
  bare(): Redis;
  /** Takes the lock of a job away, again and again, until the returned function is called. */
  loseLock(kind: JobKind, id: string): () => void;
  /** Ends what this test started, not the Redis. */
  reset(): Promise<void>;
  close(): Promise<void>;
}

/** Payloads by reference, in memory. */
export class MemoryPayloads implements PayloadStore {
  readonly blobs = new Map<string, Uint8Array>();
  async put(tenant: string, key: string, bytes: Uint8Array): Promise<void> {
    this.blobs.set(`${tenant}/${key}`, bytes);
  }
  async get(tenant: string, key: string): Promise<Uint8Array | undefined> {
    return this.blobs.get(`${tenant}/${key}`);
  }
  async delete(tenant: string, key: string): Promise<void> {
    this.blobs.delete(`${tenant}/${key}`);
  }
}

const ROLE_OF: Readonly<Record<string, JobKind>> = {
  query: "query",
  insert: "insert",
  "embed-fields": "score",
  "embed-rows": "score",
  retext: "maintain",
  reembed: "maintain",
  reconcile: "maintain",
  deliver: "maintain",
};

const notForThisTest: JobHandler = () => Promise.reject(new Error("The test has no such job."));

/** @param cluster address of a cluster to work on instead of a Redis of its own */
export async function openJobBench(cluster?: string): Promise<JobBench> {
  const redis = cluster === undefined ? await startRedis() : lent(cluster);
  const payloads = new MemoryPayloads();
  const opened: (() => unknown)[] = [];
  const bench = {
    redis,
    payloads,
    settings: freshSettings(),
    client(settings: Partial<JobSettings> = {}, limits?: JobClientOptions["limits"]) {
      const options = { redis: redis.address, payloadStore: payloads, clock: systemClock, ids: randomId };
      const client = createJobClient({ ...options, limits, settings: { ...bench.settings, ...settings } });
      opened.push(() => client.close());
      return client;
    },
    background(settings: Partial<JobSettings> = {}) {
      const options = { redis: redis.address, payloadStore: payloads, clock: systemClock };
      const background = createBackground({ ...options, settings: { ...bench.settings, ...settings } });
      opened.push(() => background.close());
      return background;
    },
    async workers(handlers: Readonly<Record<string, JobHandler>>, options: Partial<JobWorkersOptions> = {}) {
      const roles = [...new Set(Object.keys(handlers).map((name) => ROLE_OF[name] ?? "query"))];
      const named: NamedHandler[] = queuesOf(roles)
        .flatMap((queue) => JOB_NAMES[queue])
        .map((name) => ({ name, handle: handlers[name] ?? notForThisTest }));
      const base = { redis: redis.address, payloadStore: payloads, clock: systemClock, settings: bench.settings };
      const workers = startJobWorkers({ ...base, roles, handlers: named, ...options });
      opened.push(() => workers.close({ drainMs: 0, giveBackMs: 50 }));
      await workers.ready();
      return workers;
    },
    bare() {
      const bare = new Redis({ path: redis.address, disconnectTimeout: 100, maxRetriesPerRequest: null });
      opened.push(() => {
        bare.disconnect();
      });
      return bare;
    },
    loseLock(kind: JobKind, id: string) {
      const bare = bench.bare();
      const lock = `{${bench.settings.prefix}-${kind}}:${kind}:ten_a.${id}:lock`;
      const timer = setInterval(() => void bare.del(lock), 20);
      const stop = (): void => {
        clearInterval(timer);
      };
      opened.unshift(stop);
      return stop;
    },
    async reset() {
      await Promise.all(opened.splice(0).map((close) => close()));
      payloads.blobs.clear();
      bench.settings = freshSettings();
    },
    async close() {
      await bench.reset();
      await redis.close();
    },
  };
  return bench;
}

/** A Redis that somebody else starts and ends. */
function lent(address: string): TestRedis {
  const nothing = (): Promise<void> => Promise.resolve();
  return { address, start: nothing, kill: nothing, freeze: () => undefined, thaw: () => undefined, close: nothing };
}

let prefixes = 0;

/** The product's settings with times that a test can wait for. */
function freshSettings(): JobSettings {
  const short = { lockMs: 400, stalledIntervalMs: 200, retryBaseMs: 20 };
  const queues = Object.fromEntries(
    Object.entries(JOB_SETTINGS.queues).map(([kind, queue]) => [kind, { ...queue, ...short }]),
  );
  return {
    ...JOB_SETTINGS,
    prefix: `test${++prefixes}`,
    pollMs: 100,
    progressMs: 20,
    announceAfterMs: 20,
    callTimeoutMs: 1_500,
    connectGraceMs: 1_000,
    sweepMs: 100,
    lastRun: { quietMs: 100, awayMs: 1_500 },
    lanes: {
      interactive: { ...JOB_SETTINGS.lanes.interactive, resendMs: 200, lostMs: 400 },
      batch: { ...JOB_SETTINGS.lanes.batch, resendMs: 200, lostMs: 400 },
    },
    queues: queues as unknown as JobSettings["queues"],
  };
}

/** A submit of the tenant `ten_a` with what the test cares for. */
export function request(kind: JobKind, payload: unknown = {}, more: Partial<SubmitRequest> = {}): SubmitRequest {
  return { kind, tenant: "ten_a", memory: "mem_1", payload, ...more };
}

/** All that an iteration gives. */
export async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const collected: T[] = [];
  for await (const item of items) collected.push(item);
  return collected;
}

/** Waits until the condition holds, and fails loudly when it does not, before the test's own time is over. */
export async function until<T>(read: () => Promise<T | undefined | false> | T | undefined | false): Promise<T> {
  const deadline = Date.now() + 25_000;
  while (Date.now() < deadline) {
    const value = await read();
    if (value !== undefined && value !== false) return value;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error(`The condition did not hold in time: ${read.toString()}`);
}

/** Waits until a job is in a state. */
export function untilState(client: JobClient, id: string, state: JobRecord["state"]): Promise<JobRecord> {
  return until(async () => {
    const record = await client.get("ten_a", id);
    return record.state === state && record;
  });
}
