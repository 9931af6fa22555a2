import { expect, test } from "@jest/globals";
import { EspalierError, type MemoryScope, NODE_FIELD } from "#core";
import type { InsertResult } from "../results.js";
import type { MemoryServices } from "../services.js";
import { aJob } from "../testing/a-memory.js";
import { embedRows } from "../outbox/embed-rows.js";
import { openApart } from "../testing/open-apart.js";
import { openServices } from "../testing/open-services.js";
import { WriteQueue } from "../writing/write-queue.js";
import { Inserter, type InsertContext } from "./insert.js";
import type { InsertRequest } from "./insert-request.js";

const by = (job: number, more: Partial<InsertContext> = {}): InsertContext => ({
  jobId: aJob(job),
  time: 1_000 + job,
  author: "ten",
  ...more,
});

const trip: InsertRequest = {
  tree: {
    type: "Trip",
    attributes: { name: "ACL trip", days: 2 },
    children: [
      { type: "Day", attributes: { name: "Arrival" }, metadata: { source: "mail" } },
      { type: "Day", attributes: { name: "Poster session" }, children: [{ type: "Gap" }] },
    ],
  },
};

function insertWith(
  services: MemoryServices,
): (scope: MemoryScope, request: InsertRequest, context: InsertContext) => Promise<InsertResult> {
  const inserter = new Inserter(services, new WriteQueue());
  return (scope, request, context) => inserter.insert(scope, request, context);
}

async function vectorCount(services: MemoryServices, scope: MemoryScope): Promise<number> {
  return (await services.vectors.fingerprint(scope, "bag-of-words")).count;
}

test("an insert for which the tenant has no room is refused before a model works, and leaves nothing", async () => {
  const { services, createMemory, model } = openServices();
  const scope = await createMemory();
  const other: InsertRequest = {
    tree: { type: "Trip", children: [1, 2, 3].map((name) => ({ type: "Day", attributes: { name } })) },
  };
  const most = { nodes: 5, bytes: 1_000 };
  const limited = { ...services, limits: { of: async () => most } };
  await insertWith(limited)(scope, trip, by(1));
  const before = [await services.tree.getMemory(scope), model.asked.length];
  const refused = insertWith(limited)(scope, other, by(2));
  await expect(refused).rejects.toMatchObject({
    code: "quota_exceeded",
    details: { limit: "nodes", value: 5, current: 4 },
  });
  expect([await services.tree.getMemory(scope), model.asked.length]).toEqual(before);
  expect(await services.tree.inbox(scope, aJob(2), "insert")).toBeUndefined();
  // A repeat of what is there already needs no room.
  expect((await insertWith(limited)(scope, trip, by(1))).revision).toBe(1);
  most.nodes = 8;
  expect((await insertWith(limited)(scope, other, by(2))).revision).toBe(2);
  await expect(insertWith(limited)(scope, { tree: { type: "Gap" } }, by(3))).rejects.toMatchObject({
    details: { limit: "nodes", current: 8 },
  });
  Object.assign(most, { nodes: 100, bytes: (await services.tree.getMemory(scope)).bytes });
  await expect(insertWith(limited)(scope, { tree: { type: "Gap" } }, by(4))).rejects.toMatchObject({
    details: { limit: "bytes" },
  });
});

test("an insert stores states with text, tokens, vectors and terms, as one revision", async () => {
  const { services, createMemory } = openServices();
  const scope = await createMemory();
  const progress: number[] = [];
  const result = await insertWith(services)(scope, trip, by(1, { progress: (done) => progress.push(done) }));
  expect(result).toMatchObject({ revision: 1, inserted: 4 });
  const states = await services.tree.scan(scope, { limit: 10 });
  expect(result.roots).toEqual([states[0]!.id]);
  expect(states.map(({ type, text, depth, metadata }) => [type, text, depth, metadata])).toEqual([
    ["Trip", "name: ACL trip\ndays: 2", 1, {}],
    ["Day", "Arrival", 2, { source: "mail" }],
    ["Day", "Poster session", 2, {}],
    ["Gap", "", 3, {}],
  ]);
  expect(states.map(({ tokens }) => tokens > 0)).toEqual([true, true, true, false]);
  expect(await vectorCount(services, scope)).toBe(3);
  const statistics = await services.lexical.statistics(scope, { field: NODE_FIELD }, ["poster", "absent"]);
  expect([statistics.documents, statistics.frequencies.get("poster") ?? 0]).toEqual([3, 1]);
  expect(progress.at(-1)).toBe(4);
  expect(await services.tree.getMemory(scope)).toMatchObject({ revision: 1, nodes: 4 });
});

test("a job that runs twice inserts once", async () => {
  const { services, createMemory } = openServices();
  const scope = await createMemory();
  const insert = insertWith(services);
  const first = await insert(scope, trip, by(1));
  expect(await insert(scope, trip, by(1))).toEqual(first);
  expect(await services.tree.getMemory(scope)).toMatchObject({ revision: 1, nodes: 4 });
});

test("equal texts are embedded once, and a job that failed half-way resumes from the cache", async () => {
  const { services, model, createMemory } = openServices();
  const scope = await createMemory();
  const commit = services.tree.commit.bind(services.tree);
  services.tree.commit = async () => {
    throw new EspalierError("store_unavailable", "down");
  };
  const same = { type: "Day", attributes: { name: "Arrival" } };
  const insert = insertWith(services);
  await expect(insert(scope, { tree: [same, same] }, by(1))).rejects.toMatchObject({ code: "store_unavailable" });
  services.tree.commit = commit;
  expect(await insert(scope, { tree: [same, same] }, by(1))).toMatchObject({ inserted: 2 });
  expect(model.asked).toEqual(["Arrival"]);
  expect(await vectorCount(services, scope)).toBe(2);
});

test("concurrent inserts into one memory all take effect, in the order of arrival", async () => {
  const { services, createMemory } = openServices();
  const scope = await createMemory({ structure: "conversation" });
  const insert = insertWith(services);
  const texts = Array.from({ length: 20 }, (_, index) => `message number ${index} ${"long ".repeat(20 - index)}`);
  const results = await Promise.all(
    texts.map((text, index) => insert(scope, { conversation: "c", messages: [{ speaker: "Ann", text }] }, by(index))),
  );
  expect(results.map(({ revision }) => revision)).toEqual(texts.map((_, index) => index + 1));
  const turns = (await services.tree.scan(scope, { limit: 100 })).filter(({ type }) => type === "Turn");
  expect(turns.map(({ attributes }) => attributes["text"])).toEqual(texts);
});

test("a head that another process moves makes the insert plan again", async () => {
  const { services, model, createMemory } = openServices();
  const scope = await createMemory();
  const commit = services.tree.commit.bind(services.tree);
  const otherProcess = insertWith({ ...services });
  let raced = false;
  services.tree.commit = async (where, change) => {
    if (!raced) {
      raced = true;
      await otherProcess(scope, { tree: { type: "Trip", attributes: { name: "other" } } }, by(2));
    }
    return commit(where, change);
  };
  expect(await insertWith(services)(scope, trip, by(1))).toMatchObject({ revision: 2 });
  const roots = (await services.tree.scan(scope, { limit: 10 })).filter(({ depth }) => depth === 1);
  expect(roots.map(({ attributes }) => attributes["name"])).toEqual(["other", "ACL trip"]);
  expect(model.asked.filter((text) => text === "Arrival")).toHaveLength(1);
});

test("templates that change while texts are embedded are the ones that count", async () => {
  const { services, model, createMemory } = openServices();
  const scope = await createMemory();
  const embed = model.embed.bind(model);
  model.embed = async (texts) => {
    model.embed = embed;
    await services.tree.updateMemory(scope, { templates: { Day: "day of {name}" } }, 5);
    return embed(texts);
  };
  await insertWith(services)(scope, { tree: { type: "Day", attributes: { name: "Arrival" } } }, by(1));
  const [state] = await services.tree.scan(scope, { limit: 1 });
  expect(state?.text).toBe("day of Arrival");
});

test("a refused insert changes nothing", async () => {
  const { services, model, createMemory } = openServices();
  const scope = await createMemory();
  const insert = insertWith(services);
  model.failure = new EspalierError("model_unavailable", "down");
  await expect(insert(scope, trip, by(1))).rejects.toMatchObject({ code: "model_unavailable" });
  await expect(insert(scope, { tree: { type: "Version" } }, by(2))).rejects.toMatchObject({ code: "reserved_name" });
  await expect(insert({ ...scope, tenant: "other" }, trip, by(3))).rejects.toMatchObject({ code: "memory_not_found" });
  expect(await services.tree.getMemory(scope)).toMatchObject({ revision: 0, nodes: 0 });
});

test("a cancelled insert stops before the commit, also while it waits for its turn", async () => {
  const { services, model, createMemory } = openServices();
  const scope = await createMemory();
  const controller = new AbortController();
  const embed = model.embed.bind(model);
  model.embed = async (texts) => {
    controller.abort(new EspalierError("cancelled", "The job was cancelled."));
    return embed(texts);
  };
  const insert = insertWith(services);
  const running = insert(scope, trip, by(1, { signal: controller.signal }));
  const waiting = insert(scope, trip, by(2, { signal: controller.signal }));
  await expect(running).rejects.toMatchObject({ code: "cancelled" });
  await expect(waiting).rejects.toMatchObject({ code: "cancelled" });
  expect(await services.tree.getMemory(scope)).toMatchObject({ revision: 0 });
});

test("where vectors lie apart an insert commits without a model, and is complete when its rows are done", async () => {
  const { services, model, createMemory, claim } = openApart();
  const scope = await createMemory();
  model.failure = new EspalierError("model_unavailable", "down");
  const progress: (readonly [number, number])[] = [];
  const inserter = new Inserter(services, new WriteQueue());
  const context = by(1, { progress: (done, total) => progress.push([done, total]) });
  expect(await inserter.insert(scope, trip, context)).toMatchObject({ revision: 1, inserted: 4 });
  expect(progress.at(-1)).toEqual([0, 4]);
  expect(await inserter.isComplete(scope, aJob(1))).toBe(false);
  model.failure = undefined;
  expect(await claim("c")).toBe(3);
  await embedRows(services, "c", { takenOver: 0 });
  expect(await inserter.isComplete(scope, aJob(1))).toBe(true);
  expect(await vectorCount(services, scope)).toBe(3);
});

test("where trees and vectors share a transaction an insert is complete with its commit", async () => {
  const { services, createMemory } = openServices();
  const scope = await createMemory();
  const inserter = new Inserter(services, new WriteQueue());
  await inserter.insert(scope, trip, by(1));
  expect(await inserter.isComplete(scope, aJob(1))).toBe(true);
});
