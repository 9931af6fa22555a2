import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { randomId, systemClock } from "#core";
import { createBackground, held, type Background } from "#jobs";
import { inMemoryApartStores, type ApartStores } from "#stores";
import { driftShape } from "../../apps/api/src/wire/drift.js";
import { openApiBench, type ApiBench } from "../support/api-bench.js";
import { until } from "../support/until.js";

/** An API as if trees and vectors lay apart: an insert is held until the test releases it. */
let bench: ApiBench;
let background: Background;
let apart: ApartStores;

beforeAll(async () => {
  apart = inMemoryApartStores(systemClock);
  bench = await openApiBench({
    handlers: {
      insert: async (_payload, { progress }) => {
        progress(0, 2);
        return held({ revision: 1, inserted: 2, roots: [] });
      },
    },
    apart: (shared) => {
      background = createBackground(shared);
      return { outbox: apart.apart.outbox, background };
    },
  });
});

afterAll(async () => {
  await bench.close();
  await background.close();
});

async function newMemory(): Promise<string> {
  const { body } = await bench.client.call("POST", "/v1/memories", { body: { name: "drift" } });
  return body.id;
}

/** Submits an insert and waits until it is held. */
async function heldInsert(memory: string): Promise<string> {
  const { body } = await bench.client.call("POST", `/v1/memories/${memory}/insert`, { body: { xml: "<Day/>" } });
  const { id } = body;
  await until(async () => ((await background.held.take(100)).some(({ job }) => job === id) ? true : undefined));
  await until(async () => {
    const progress = (await jobOf(id))["progress"] as { readonly total: number };
    return progress.total === 2 ? true : undefined;
  });
  return id;
}

const jobOf = async (id: string) => (await bench.client.call("GET", `/v1/jobs/${id}`)).body;

test("an insert whose vectors are on their way is active, and cannot be cancelled", async () => {
  const id = await heldInsert(await newMemory());
  expect(await jobOf(id)).toMatchObject({ state: "active", progress: { done: 0, total: 2 } });
  const refused = await bench.client.call("DELETE", `/v1/jobs/${id}`);
  expect(refused).toMatchObject({ status: 409, body: { code: "job_finished" } });
  await background.held.release({ tenant: "default", job: id }, { state: "completed" });
  expect(await jobOf(id)).toMatchObject({ state: "completed", result: { inserted: 2 } });
});

test("a memory that is deleted takes the inserts with it that wait for their vectors", async () => {
  const memory = await newMemory();
  const id = await heldInsert(memory);
  const deleted = await bench.client.call("DELETE", `/v1/memories/${memory}`);
  expect(deleted).toMatchObject({ status: 200, body: { deleted: { jobs: 1 } } });
  expect(await jobOf(id)).toMatchObject({ state: "cancelled", error: { code: "cancelled" } });
  expect(await background.held.take(100)).toEqual([]);
});

test("an operator reads how the stores agree, and has them compared and repaired", async () => {
  const memory = await apart.tree.createMemory("default", {
    ...{ id: randomId("mem"), name: "apart", labels: {}, structure: "conversation", templates: {} },
    scoring: { scorer: "hybrid", a: 0.4, entailmentTemplate: "This is about {}." },
    ...{ embeddingModel: "bench-model", createdAt: 1 },
  });
  const scope = { tenant: "default", memory: memory.id };
  const state = { id: randomId("nod"), type: "Day", parentId: null, pathKey: "a0", depth: 1 };
  await apart.tree.commit(scope, {
    ...{ baseRevision: 0, inbox: { job: "job_1", step: "insert" }, message: "", author: "default", time: 1 },
    states: [{ ...state, attributes: {}, metadata: {}, text: "beach", tokens: 1 }],
    ...{ ends: [], vectors: [], terms: [], result: {} },
  });
  const { outbox } = apart.apart;
  const rows = await outbox.claim("default", { id: "c", rows: 1, tokens: 1, leaseMs: 60_000 });
  await outbox.fail("c", rows, { code: "model_bad_output", message: "NaN", afterMs: 0, final: true });
  await background.sweeps.note(scope, 3);
  const before = await bench.client.call("GET", "/v1/admin/drift");
  expect(driftShape.parse(before.body)).toEqual({ stores: "apart", points: 3, memories: 1, pendingRows: 0 });
  expect((await bench.client.call("GET", "/metrics")).text).toMatch(/espalier_vector_drift\{process="api"\} 3\n/);
  const asked = await bench.client.call("POST", "/v1/admin/drift/repair");
  expect(asked.status).toBe(202);
  expect(driftShape.parse(asked.body)).toMatchObject({ points: 3, pendingRows: 1, retriedRows: 1 });
  let begun = false;
  await background.sweeps.turn({ everyMs: 3_600_000, lockMs: 1_000 }, async () => void (begun = true));
  expect(begun).toBe(true);
});

test("only operators read and repair", async () => {
  const key = await bench.key({ scopes: ["read", "write", "admin"] });
  for (const [method, path] of [
    ["GET", "/v1/admin/drift"],
    ["POST", "/v1/admin/drift/repair"],
  ] as const) {
    expect(await bench.client.call(method, path, { key })).toMatchObject({ status: 403, body: { code: "forbidden" } });
  }
});
