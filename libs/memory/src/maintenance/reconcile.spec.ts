import { expect, test } from "@jest/globals";
import { LIMITS, type MemoryScope } from "#core";
import { embedRows } from "../outbox/embed-rows.js";
import { openApart, type TestApart } from "../testing/open-apart.js";
import { buryTombstones } from "./bury-tombstones.js";
import { WriteQueue } from "../writing/write-queue.js";
import { findDrift, reconcile } from "./reconcile.js";
import { reembed } from "./reembed.js";

const MODEL = "bag-of-words";
const NONE = { missing: 0, foreign: 0, stale: 0, repaired: 0, failed: 0 };
const NO_DRIFT = { repairable: 0, failed: 0, hasFormer: false };

let claims = 0;

/** Does what rows there are. */
async function drain({ services, claim }: TestApart): Promise<void> {
  const id = `drain-${(claims += 1)}`;
  if ((await claim(id)) > 0) await embedRows(services, id, { takenOver: 0 });
}

/** A memory with so many nodes, whose points are in step. */
async function inStep(apart: TestApart, nodes: number): Promise<{ scope: MemoryScope; ids: readonly string[] }> {
  const scope = await apart.createMemory({ structure: "conversation" });
  const { roots } = await apart.insert(
    scope,
    Array.from({ length: nodes }, (_, index) => `day ${index}`),
  );
  await drain(apart);
  return { scope, ids: roots };
}

const pointOf = async ({ stores }: TestApart, scope: MemoryScope, id: string) =>
  (await stores.apart.points.points(scope, MODEL, { limit: 10_000 })).points.find((point) => point.id === id)!;

test("a memory that is in step has no drift, also while rows wait", async () => {
  const apart = openApart();
  const { scope } = await inStep(apart, 20);
  expect(await findDrift(apart.services, scope)).toEqual(NO_DRIFT);
  await apart.insert(scope, ["new"]);
  expect(await reconcile(apart.services, scope)).toEqual(NONE);
  await drain(apart);
  expect(await reconcile(apart.services, scope)).toEqual(NONE);
});

test("points that were lost are found, made again and then in step", async () => {
  const apart = openApart();
  const { scope, ids } = await inStep(apart, 30);
  const lost = await Promise.all(ids.slice(3, 8).map((id) => pointOf(apart, scope, id)));
  await apart.stores.apart.points.remove(scope, MODEL, lost);
  expect(await findDrift(apart.services, scope)).toEqual({ ...NO_DRIFT, repairable: 5 });
  expect(await reconcile(apart.services, scope)).toEqual({ ...NONE, missing: 5, repaired: 5 });
  await drain(apart);
  expect(await findDrift(apart.services, scope)).toEqual(NO_DRIFT);
  expect((await apart.services.vectors.fingerprint(scope, MODEL)).count).toBe(30);
});

test("points of unknown states, fields and revisions are foreign and go away; those of the tree stay", async () => {
  const apart = openApart();
  const { scope, ids } = await inStep(apart, 10);
  const embedding = { vector: Float32Array.from({ length: 64 }, (_, index) => (index === 0 ? 1 : 0)), windowed: false };
  const planted = { field: "", model: MODEL, embedding };
  apart.stores.plant(scope, { ...planted, id: "nod_unknown", born: 1 });
  apart.stores.plant(scope, { ...planted, id: ids[0]!, born: 7 });
  apart.stores.plant(scope, { ...planted, id: ids[1]!, born: 1, field: "name" });
  expect(await reconcile(apart.services, scope)).toEqual({ ...NONE, foreign: 3, repaired: 3 });
  expect(await findDrift(apart.services, scope)).toEqual(NO_DRIFT);
  expect((await apart.services.vectors.fingerprint(scope, MODEL)).count).toBe(10);
});

test("points that tell another end than the tree are refreshed", async () => {
  const apart = openApart();
  const { scope, ids } = await inStep(apart, 10);
  await apart.insert(scope, ["later"]);
  await drain(apart);
  for (const [id, died] of [[ids[0]!, 2] as const, [ids[1]!, 900] as const]) {
    const point = await pointOf(apart, scope, id);
    await apart.stores.apart.points.remove(scope, MODEL, [point]);
    const embedding = { vector: new Float32Array(64).fill(1 / 8), windowed: false };
    apart.stores.plant(scope, { id, born: point.born, field: "", model: MODEL, embedding, died });
  }
  expect(await reconcile(apart.services, scope)).toEqual({ ...NONE, stale: 2, repaired: 2 });
  expect(await findDrift(apart.services, scope)).toEqual(NO_DRIFT);
  expect((await pointOf(apart, scope, ids[0]!)).died).toBeUndefined();
});

test("a point whose row waits is neither foreign nor missing", async () => {
  const apart = openApart();
  const { scope, ids } = await inStep(apart, 5);
  await apart.services.tree.commit(scope, {
    ...{ baseRevision: 1, inbox: { job: "job_x", step: "end" }, message: "end", author: "ten", time: 2 },
    ...{ states: [], ends: [ids[0]!], vectors: [], terms: [], result: {} },
  });
  expect(await reconcile(apart.services, scope)).toEqual(NONE);
  expect((await apart.services.vectors.fingerprint(scope, MODEL)).count).toBe(5);
});

test("what is inserted and embedded while both sides are walked is left to the next comparison", async () => {
  const apart = openApart();
  const { scope, ids } = await inStep(apart, 5);
  const lost = await pointOf(apart, scope, ids[0]!);
  await apart.stores.apart.points.remove(scope, MODEL, [lost]);
  const { points } = apart.services.apart;
  const read = points.points.bind(points);
  points.points = async (...request) => {
    points.points = read;
    await apart.insert(scope, ["meanwhile"]);
    await drain(apart);
    return read(...request);
  };
  expect(await reconcile(apart.services, scope)).toEqual({ ...NONE, missing: 1, repaired: 1 });
  await drain(apart);
  expect(await findDrift(apart.services, scope)).toEqual(NO_DRIFT);
  expect((await apart.services.vectors.fingerprint(scope, MODEL)).count).toBe(6);
});

test("points whose rows were given up are told until they are tried again, and not repaired", async () => {
  const apart = openApart();
  const { scope } = await inStep(apart, 5);
  await apart.insert(scope, ["poison"]);
  const { outbox } = apart.services.apart;
  await apart.claim("failing");
  const rows = await outbox.claimed("failing", LIMITS.rowLeaseMs);
  await outbox.fail("failing", rows, { code: "model_bad_output", message: "NaN", afterMs: 0, final: true });
  expect(await findDrift(apart.services, scope)).toEqual({ ...NO_DRIFT, failed: 1 });
  expect(await reconcile(apart.services, scope)).toEqual({ ...NONE, failed: 1 });
  await outbox.retry(scope);
  expect(await findDrift(apart.services, scope)).toEqual(NO_DRIFT);
});

test("nothing is said of a memory with too many rows under way, unless it is in step", async () => {
  const apart = openApart();
  const { scope, ids } = await inStep(apart, 5);
  const { outbox } = apart.services.apart;
  const { fingerprint } = await outbox.expectation(scope, MODEL);
  outbox.expectation = async () => ({ fingerprint, pending: LIMITS.reconcileBusyRows + 2, failed: 1 });
  expect(await findDrift(apart.services, scope)).toEqual({ ...NO_DRIFT, failed: 1 });
  await apart.stores.apart.points.remove(scope, MODEL, [await pointOf(apart, scope, ids[0]!)]);
  expect(await findDrift(apart.services, scope)).toBeUndefined();
  expect(await reconcile(apart.services, scope)).toEqual({ ...NONE, missing: 1, repaired: 1, failed: 1 });
});

test("a move to another model that was cut short after its switch is finished", async () => {
  const apart = openApart();
  const { services } = apart;
  const { scope } = await inStep(apart, 5);
  await services.tree.updateMemory(scope, { nextEmbeddingModel: "other-words" }, 1);
  const deleteFormer = services.vectors.deleteFormer.bind(services.vectors);
  services.vectors.deleteFormer = () => Promise.reject(new Error("killed"));
  await expect(reembed(services, new WriteQueue(), scope)).rejects.toThrow("killed");
  services.vectors.deleteFormer = deleteFormer;
  expect(await services.tree.getMemory(scope)).toMatchObject({ embeddingModel: "other-words" });
  expect((await services.vectors.fingerprint(scope, MODEL)).count).toBe(5);
  expect(await findDrift(services, scope)).toEqual({ ...NO_DRIFT, hasFormer: true });
  expect(await reconcile(services, scope)).toEqual({ ...NONE, foreign: 5, repaired: 5 });
  expect((await services.vectors.fingerprint(scope, MODEL)).count).toBe(0);
  expect(await services.apart.outbox.tracked(scope, MODEL)).toEqual([]);
  expect(await services.tree.getMemory(scope)).not.toHaveProperty("nextEmbeddingModel");
  expect(await findDrift(services, scope)).toEqual(NO_DRIFT);
});

test("a deleted memory is looked after once more, when nobody can be left who writes for it, and then forgotten", async () => {
  const apart = openApart();
  const { services, stores, time } = apart;
  const { scope, ids } = await inStep(apart, 5);
  expect((await services.tree.deleteMemory(scope)).vectors).toBe(5);
  const embedding = { vector: new Float32Array(64).fill(1 / 8), windowed: false };
  stores.plant(scope, { id: ids[0]!, born: 1, field: "", model: MODEL, embedding });
  time.now += LIMITS.tombstoneMs - 1;
  expect(await buryTombstones(services)).toBe(0);
  time.now += 1;
  expect(await buryTombstones(services)).toBe(1);
  expect((await stores.apart.points.points(scope, MODEL, { limit: 10 })).points).toEqual([]);
  expect(await services.apart.outbox.tombstones(10, 0)).toEqual([]);
  expect(await buryTombstones(services, 0)).toBe(0);
});
