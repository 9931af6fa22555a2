import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { randomId, systemClock, type MemoryScope, type NodeState } from "#core";
import { createJobClient, requeueActive, type JobClient, type JobRecord } from "#jobs";
import { openStores, type Stores } from "#stores";
import { FakeModelServer } from "../support/fake-model-server.js";
import { startRedis, type TestRedis } from "../support/redis.js";
import { setUp, startWorkerProcess, type WorkerProcess } from "../support/worker.js";

/**
 * kill -9 of the worker in the middle of an insert (guarantee of the jobs page): a new job each round, killed at a random
 * moment between its start and twice the time of an undisturbed insert (a new worker is slower at first).
 * ESPALIER_KILL_ROUNDS sets the rounds (20 by `npm run test:kill`), ESPALIER_KILL_SEED the moments.
 */
const ROUNDS = Number(process.env["ESPALIER_KILL_ROUNDS"] ?? 3);
const SEED = Number(process.env["ESPALIER_KILL_SEED"] ?? Date.now() % 1_000_000);
const NODES = 5_000;
const ROUND_MS = 60_000;

let redis: TestRedis;
let model: FakeModelServer;
let stores: Stores;
let client: JobClient;
let folder: string;
let scope: MemoryScope;
let environment: NodeJS.ProcessEnv;
let worker: WorkerProcess | undefined;

beforeAll(async () => {
  [redis, model, folder] = await Promise.all([
    startRedis(),
    FakeModelServer.start({ maxBatch: 256 }),
    mkdtemp(join(tmpdir(), "espalier-kill-")),
  ]);
  environment = {
    ...{ EMBEDDING_PROVIDER: "openai", EMBEDDING_URL: `${model.url}/v1`, EMBEDDING_MODEL: "fake-model" },
    EMBEDDING_API_KEY: "none",
  };
  await setUp(environment);
  stores = openStores({ folder, clock: systemClock });
  client = createJobClient({ redis: redis.address, payloadStore: stores.blobs, clock: systemClock, ids: randomId });
}, ROUND_MS);

afterAll(async () => {
  await worker?.kill();
  await client.close();
  await stores.close();
  await Promise.all([redis.close(), model.stop(), rm(folder, { recursive: true, force: true })]);
});

/** Mulberry32: the moments of a run can be had again from its seed. */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const startWorker = async (): Promise<void> => {
  worker = await startWorkerProcess({ redis: redis.address, dataFolder: folder, environment });
};

/** A tree of 5,000 nodes: 50 sections of 99 notes, every tenth note without a text. */
function treeOf(round: number): unknown {
  return Array.from({ length: 50 }, (_, section) => ({
    type: "Section",
    attributes: { name: `round ${round} section ${section}` },
    children: Array.from({ length: NODES / 50 - 1 }, (_none, note) => ({
      type: "Note",
      attributes: note % 10 === 0 ? {} : { text: `round ${round} note ${section}.${note}` },
    })),
  }));
}

const submit = (round: number): Promise<JobRecord> =>
  client.submit({ kind: "insert", ...scope, payload: { tree: treeOf(round) } });

async function ended(id: string): Promise<JobRecord> {
  for await (const { record } of client.events(scope.tenant, id, { signal: AbortSignal.timeout(ROUND_MS) })) {
    if (record.state !== "queued" && record.state !== "active") return record;
  }
  throw new Error(`the job ${id} did not end`);
}

async function live(): Promise<NodeState[]> {
  const nodes: NodeState[] = [];
  for (let after: string | undefined; ; after = nodes.at(-1)?.pathKey) {
    const page = await stores.tree.scan(scope, { limit: 1_000, ...(after !== undefined && { after }) });
    nodes.push(...page);
    if (page.length < 1_000) return nodes;
  }
}

/** What must hold at any time: whole inserts only, nothing twice, a vector for each live text and no others. */
async function expectWhole(inserts: number): Promise<void> {
  const [nodes, memory] = [await live(), await stores.tree.getMemory(scope)];
  expect({ nodes: nodes.length, revision: memory.revision, counted: memory.nodes }).toEqual({
    ...{ nodes: inserts * NODES, revision: inserts, counted: inserts * NODES },
  });
  expect(new Set(nodes.map(({ id }) => id)).size).toBe(nodes.length);
  expect(new Set(nodes.map(({ pathKey }) => pathKey)).size).toBe(nodes.length);
  const { count } = await stores.vectors.fingerprint(scope, memory.embeddingModel);
  expect(count).toBe(nodes.filter(({ text }) => text !== "").length);
}

test(
  `an insert of ${NODES} nodes survives kill -9 of its worker, ${ROUNDS} times (seed ${SEED})`,
  async () => {
    const random = randomOf(SEED);
    const created = await stores.tree.createMemory("default", {
      ...{ id: randomId("mem"), name: "killed", labels: {}, structure: "conversation", templates: {} },
      scoring: { scorer: "hybrid", a: 0.4, entailmentTemplate: "This is about {}." },
      ...{ embeddingModel: `openai:${new URL(model.url).host}/fake-model`, createdAt: Date.now() },
    });
    scope = { tenant: "default", memory: created.id };
    await startWorker();
    const calm = await ended((await submit(0)).id);
    expect(calm).toMatchObject({ state: "completed", result: { inserted: NODES } });
    await expectWhole(1);
    const calmMs = calm.finishedAt! - calm.startedAt!;
    let interrupted = 0;
    for (let round = 1; round <= ROUNDS; round++) {
      const { id } = await submit(round);
      for await (const { record } of client.events("default", id, { signal: AbortSignal.timeout(ROUND_MS) })) {
        if (record.state === "active") break;
      }
      // The first is killed early for certain, before anything can be committed.
      await pause(round === 1 ? calmMs / 10 : Math.round(random() * 2 * calmMs));
      await worker?.kill();
      const committed = (await stores.tree.getMemory(scope)).revision;
      if (committed === round) interrupted++;
      expect([round, round + 1]).toContain(committed);
      await expectWhole(committed);
      // As the supervisor of the only worker does: nobody else can have its jobs.
      await requeueActive(redis.address);
      await startWorker();
      const record = await ended(id);
      expect(record).toMatchObject({ state: "completed", result: { inserted: NODES, revision: round + 1 } });
      if (committed === round) expect(record.attempts).toBe(2);
      await expectWhole(round + 1);
    }
    expect(interrupted).toBeGreaterThan(0);
  },
  (ROUNDS + 1) * ROUND_MS,
);
