import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { parseConfig, systemClock } from "#core";
import { openStoresOf, type Stores } from "#stores";
import { ApiClient, type Answer } from "../support/api-client.js";
import { FakeModelServer } from "../support/fake-model-server.js";
import { startRedis, type TestRedis } from "../support/redis.js";
import { until } from "../support/until.js";
import { setUp, startWorkerProcess, type WorkerProcess } from "../support/worker.js";
import { startApiProcess, type ApiProcess } from "./api-process.js";
import type { Faults } from "./faults.js";
import { Ledger } from "./ledger.js";
import { LONG } from "./row.js";

const PRELOAD = join(import.meta.dirname, "faults.ts");

/** Between two writes of one client: jobs pile up while they cannot run, and a machine of CI is not kept busy. */
const PACE_MS = 100;

/** Longest that a write is repeated: longer than any outage. */
const WRITE_MS = 180_000;

/** Longest that a job takes to its end, whatever happens to it. */
const ENDED_MS = 240_000;

/** Times of the short form. The long form has the product's own. */
const SHORT: Pick<Faults, "queues" | "lanes"> = {
  queues: { lockMs: 4_000, stalledIntervalMs: 1_500, retryBaseMs: 300 },
  lanes: { resendMs: 1_500, lostMs: 4_000 },
};

/** One API, workers as a test starts them, a Redis, a model server, and the stores they share: real processes. */
export interface System {
  readonly redis: TestRedis;
  readonly model: FakeModelServer;
  readonly client: ApiClient;
  readonly stores: Stores;
  readonly ledger: Ledger;
  startWorker(faults?: Partial<Faults>): Promise<WorkerProcess>;
  /** Stops all workers and starts one for each of these. */
  replaceWorkers(...faults: readonly Partial<Faults>[]): Promise<readonly WorkerProcess[]>;
  /** The API was killed, or is about to be: starts another at the same address when it has ended. */
  replaceApi(faults?: Partial<Faults>): Promise<void>;
  killApi(): Promise<void>;
  /** Resolves when the API process of now has ended, however. */
  apiEnded(): Promise<unknown>;
  /** Leaves an order for the process that takes it first. */
  order(name: string): Promise<void>;
  memory(): Promise<string>;
  /** Sends a write until it is acknowledged, under one idempotency key; answers its job. */
  write(memory: string, number: number, text?: string): Promise<string>;
  state(job: string): Promise<string>;
  /** Whether the job ran, failed, and waits for its next attempt. */
  waitsAgain(job: string): Promise<boolean>;
  /** How the job ended, when it has. */
  ended(job: string): Promise<string>;
  /** Clients that write one after the other, each to a memory of its own, until they are stopped; every other one without keys. */
  load(writers: number): Promise<Load>;
  /** Does the work of a job again that failed, and waits for its end: the write counts as the new job's from now on. */
  replay(memory: string, job: string): Promise<void>;
  /** Waits until so many more writes are acknowledged. */
  writesGoOn(count: number): Promise<true>;
  /** A write to a memory of its own that is waited for to its end; answers how long that took. */
  worksAgain(): Promise<number>;
  /** Waits until all that was acknowledged has ended. */
  settle(): Promise<void>;
  close(): Promise<void>;
}

/** Clients that write. */
export interface Load {
  /** Resolves when the last write is acknowledged. */
  stop(): Promise<void>;
}

/** Where trees and vectors are; empty: in SQLite, in the folder of the system. */
export type StoreVariables = Readonly<Partial<Record<"NEO4J_URI" | "QDRANT_URL", string>>>;

/** @param faults of every process of the system */
export async function startSystem(stores: StoreVariables = {}, faults: Partial<Faults> = {}): Promise<System> {
  const [redis, model, folder] = await Promise.all([
    startRedis(),
    FakeModelServer.start({ maxBatch: 64 }),
    mkdtemp(join(tmpdir(), "espalier-chaos-")),
  ]);
  const orders = join(folder, "orders");
  await mkdir(orders);
  const environment = {
    ...{ EMBEDDING_PROVIDER: "openai", EMBEDDING_URL: `${model.url}/v1`, EMBEDDING_MODEL: "fake-model" },
    ...{ EMBEDDING_API_KEY: "none", REDIS_URL: `unix://${redis.address}`, NEO4J_URI: "", QDRANT_URL: "", ...stores },
  };
  await setUp(environment);
  return new ChaosSystem({ redis, model, folder, orders, environment, faults }).start();
}

interface Parts {
  readonly redis: TestRedis;
  readonly model: FakeModelServer;
  readonly folder: string;
  readonly orders: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly faults: Partial<Faults>;
}

class ChaosSystem implements System {
  readonly redis: TestRedis;
  readonly model: FakeModelServer;
  readonly stores: Stores;
  readonly ledger = new Ledger();
  readonly #workers: WorkerProcess[] = [];
  #api: ApiProcess | undefined;
  #client: ApiClient | undefined;

  constructor(private readonly parts: Parts) {
    this.redis = parts.redis;
    this.model = parts.model;
    this.stores = openStoresOf(parseConfig({ ...parts.environment, ESPALIER_DATA: parts.folder }), systemClock);
  }

  async start(): Promise<this> {
    await this.#startApi(this.parts.faults);
    return this;
  }

  get client(): ApiClient {
    if (this.#client === undefined) throw new Error("the API has not been started");
    return this.#client;
  }

  async startWorker(faults: Partial<Faults> = {}): Promise<WorkerProcess> {
    const worker = await startWorkerProcess({
      ...{ redis: this.redis.address, dataFolder: this.parts.folder, preload: PRELOAD },
      environment: { ...this.parts.environment, ...this.#faults(faults) },
    });
    this.#workers.push(worker);
    return worker;
  }

  async replaceWorkers(...faults: readonly Partial<Faults>[]): Promise<readonly WorkerProcess[]> {
    await Promise.all(this.#workers.splice(0).map((worker) => worker.stop()));
    return Promise.all(faults.map((each) => this.startWorker(each)));
  }

  async killApi(): Promise<void> {
    await this.#api?.kill();
  }

  async apiEnded(): Promise<unknown> {
    return this.#api?.ended;
  }

  async replaceApi(faults: Partial<Faults> = {}): Promise<void> {
    await this.apiEnded();
    await this.#startApi(faults, { ESPALIER_PORT: new URL(this.client.url).port });
  }

  async order(name: string): Promise<void> {
    await writeFile(join(this.parts.orders, name), "");
  }

  memory(): Promise<string> {
    return this.client.memory({ structure: "conversation" });
  }

  async write(memory: string, number: number, text = textOf(memory, number)): Promise<string> {
    const headers = { "idempotency-key": `${memory}-${number}` };
    // Refusals and lost answers alike: the key makes the repeats one write.
    const job = await until(async () => {
      const answer = await this.#send(memory, number, text, headers).catch(ignore);
      if (answer !== undefined && answer.status < 300) return answer.body.id;
      if (answer !== undefined && answer.status < 500 && answer.status !== 429) throw new Refused(answer.text);
      await pause(PACE_MS);
      return undefined;
    }, WRITE_MS);
    this.ledger.acknowledge(memory, { number, job });
    return job;
  }

  async state(job: string): Promise<string> {
    return (await this.client.call("GET", `/v1/jobs/${job}`)).body.state;
  }

  async waitsAgain(job: string): Promise<boolean> {
    const { body } = await this.client.call("GET", `/v1/jobs/${job}`);
    return body.state === "queued" && Number(body["attempts"]) > 0;
  }

  ended(job: string): Promise<string> {
    return until(async () => {
      const state = await this.state(job).catch(ignore);
      return state === undefined || ["queued", "active"].includes(state) ? undefined : state;
    }, ENDED_MS);
  }

  async load(writers: number): Promise<Load> {
    const stopping = new AbortController();
    const memories = await Promise.all(Array.from({ length: writers }, () => this.memory()));
    const running = Promise.all(memories.map((memory, writer) => this.#writeOn(memory, writer, stopping.signal)));
    running.catch(ignore);
    return {
      stop: async () => {
        stopping.abort();
        await running;
      },
    };
  }

  async replay(memory: string, job: string): Promise<void> {
    const again = (await this.client.call("POST", `/v1/jobs/${job}/retry`)).body.id;
    this.ledger.replayed(memory, job, again);
    const state = await this.ended(again);
    if (state !== "completed") throw new Error(`the replay of ${job} ended as ${state}`);
  }

  writesGoOn(count: number): Promise<true> {
    const enough = this.ledger.acknowledged + count;
    return until(() => this.ledger.acknowledged >= enough || undefined, WRITE_MS);
  }

  async worksAgain(): Promise<number> {
    const begun = Date.now();
    const memory = await until(() => this.memory().catch(ignore), WRITE_MS);
    const state = await this.ended(await this.write(memory, 1));
    if (state !== "completed") throw new Error(`the write after the fault ended as ${state}`);
    return Date.now() - begun;
  }

  settle(): Promise<void> {
    return this.ledger.settle(this.client);
  }

  async close(): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.kill()));
    await this.killApi();
    await this.stores.close();
    await Promise.all([this.redis.close(), this.model.stop()]);
    await rm(this.parts.folder, { recursive: true, force: true });
  }

  async #writeOn(memory: string, writer: number, signal: AbortSignal): Promise<void> {
    for (let number = 1; !signal.aborted; number += 1) {
      await (writer % 2 === 0 ? this.write(memory, number) : this.#writeOnce(memory, number));
      await pause(PACE_MS, undefined, { signal }).catch(ignore);
    }
  }

  /** Without a key: a write that was not acknowledged may have happened, once. */
  async #writeOnce(memory: string, number: number): Promise<void> {
    const answer = await this.#send(memory, number, textOf(memory, number)).catch(ignore);
    if (answer?.status === 202) this.ledger.acknowledge(memory, { number, job: answer.body.id });
    else this.ledger.unsure(memory, number);
  }

  #send(memory: string, number: number, text: string, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
    const body = { tree: { type: "Entry", attributes: { text, number } } };
    return this.client.call("POST", `/v1/memories/${memory}/insert`, { body, headers });
  }

  async #startApi(faults: Partial<Faults>, environment: NodeJS.ProcessEnv = {}): Promise<void> {
    this.#api = await startApiProcess({
      ...{ dataFolder: this.parts.folder, preload: PRELOAD },
      environment: { ...this.parts.environment, ...this.#faults(faults), ...environment },
    });
    this.#client = new ApiClient(this.#api.url, this.#api.key);
  }

  #faults(own: Partial<Faults>): NodeJS.ProcessEnv {
    const times: Partial<Faults> = LONG ? {} : SHORT;
    const all = [times, this.parts.faults, own];
    const faults: Faults = {
      ...Object.assign({}, ...all),
      orders: this.parts.orders,
      queues: Object.assign({}, ...all.map(({ queues }) => queues)),
    };
    return { ESPALIER_FAULTS: JSON.stringify(faults) };
  }
}

class Refused extends Error {}

const textOf = (memory: string, number: number): string => `entry ${number} of ${memory}`;

function ignore(): undefined {
  return undefined;
}
