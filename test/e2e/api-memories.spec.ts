import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { openApiBench, type ApiBench } from "../support/api-bench.js";
import type { AnswerBody } from "../support/api-client.js";
import { until } from "../support/until.js";

let bench: ApiBench;

beforeAll(async () => {
  bench = await openApiBench({ handlers: { retext: async () => ({}), reembed: async () => ({}) } });
});

afterAll(async () => {
  await bench.close();
});

test("a memory is made with its defaults, found, changed and deleted with counts", async () => {
  const created = await bench.client.call("POST", "/v1/memories", {
    body: { name: "acl-trip", labels: { user: "u1" } },
  });
  expect(created.status).toBe(201);
  const { id } = created.body as { id: string };
  expect(created.headers.get("location")).toBe(`/v1/memories/${id}`);
  expect(created.body).toMatchObject({
    name: "acl-trip",
    labels: { user: "u1" },
    structure: "artifact",
    revision: 0,
    nodes: 0,
    embeddingModel: "bench-model",
    scoring: { scorer: "hybrid", a: 0.4, entailmentTemplate: "This is about {}." },
  });
  expect(new Date(created.body.createdAt).toISOString()).toBe(created.body.createdAt);
  expect((await bench.client.call("GET", `/v1/memories/${id}`)).body).toEqual(created.body);

  const patched = await bench.client.call("PATCH", `/v1/memories/${id}`, {
    body: { name: "trip", labels: {}, scoring: { scorer: "lexical" } },
  });
  expect(patched.body).toMatchObject({ name: "trip", labels: {}, scoring: { scorer: "lexical", a: 0.4 } });
  expect(patched.body.job).toBeUndefined();

  const deleted = await bench.client.call("DELETE", `/v1/memories/${id}`);
  expect(deleted.status).toBe(200);
  expect(deleted.body).toEqual({
    id,
    deleted: { nodes: 0, vectors: 0, terms: 0, revisions: 0, inbox: 0, blobs: 0, jobs: 0 },
  });
  expect((await bench.client.call("GET", `/v1/memories/${id}`)).status).toBe(404);
  expect((await bench.client.call("DELETE", `/v1/memories/${id}`)).body.code).toBe("memory_not_found");
});

test("new templates and another embedding model start maintain jobs, the same ones do not", async () => {
  const id = await bench.client.memory({ templates: { Day: "{name}" } });
  const patch = async (body: object): Promise<string | undefined> =>
    (await bench.client.call("PATCH", `/v1/memories/${id}`, { body })).body.job;
  expect(await patch({ templates: { Day: "{name}" } })).toBeUndefined();
  const retext = await patch({ templates: { Day: "{name} {cost}" } });
  expect((await bench.client.call("GET", `/v1/jobs/${retext}`)).body).toMatchObject({ kind: "maintain", memory: id });
  expect(await patch({ embeddingModel: "bench-model" })).toBeUndefined();
  expect(await patch({ embeddingModel: "other-model" })).toMatch(/^job_/);
  expect((await bench.client.call("GET", `/v1/memories/${id}`)).body).toMatchObject({
    embeddingModel: "bench-model",
    nextEmbeddingModel: "other-model",
  });
});

test("a memory keeps a model that may not be named any more, and other memories cannot have it", async () => {
  const id = await bench.client.memory();
  await bench.stores.tree.updateMemory({ tenant: "default", memory: id }, { embeddingModel: "old-model" }, Date.now());
  const patch = (body: object) => bench.client.call("PATCH", `/v1/memories/${id}`, { body });
  expect((await patch({ name: "kept" })).body).toMatchObject({ name: "kept", embeddingModel: "old-model" });
  const named = await patch({ embeddingModel: "old-model" });
  expect(named.status).toBe(200);
  expect(named.body.job).toBeUndefined();
  expect((await patch({ embeddingModel: "bench-model" })).body["nextEmbeddingModel"]).toBe("bench-model");
  const create = await bench.client.call("POST", "/v1/memories", { body: { name: "a", embeddingModel: "old-model" } });
  expect(create.status).toBe(422);
  expect(create.body).toMatchObject({ code: "model_unknown", errors: [{ path: "embeddingModel" }] });
});

test("memories are listed newest first, by labels and name, in pages", async () => {
  const key = await bench.key({ tenant: "ten_list" });
  const made: string[] = [];
  for (const user of ["a", "b", "a", "b", "a"])
    made.push(await bench.client.memory({ name: `of-${user}`, labels: { user, app: "x" } }, key));
  const list = async (query: string): Promise<AnswerBody> =>
    (await bench.client.call("GET", `/v1/memories?${query}`, { key })).body;
  const ids = (page: AnswerBody): string[] => page.items.map(({ id }) => id);
  expect(ids(await list(""))).toEqual(made.toReversed());
  expect(ids(await list("label.user=a&label.app=x"))).toEqual([made[4], made[2], made[0]]);
  expect(ids(await list("label.user=a&label.app=y"))).toEqual([]);
  expect(ids(await list("name=of-b"))).toEqual([made[3], made[1]]);
  const first = await list("limit=2");
  const second = await list(`limit=2&cursor=${first.nextCursor ?? ""}`);
  const third = await list(`limit=2&cursor=${second.nextCursor ?? ""}`);
  expect([first, second, third].flatMap(ids)).toEqual(made.toReversed());
  expect(third.nextCursor).toBeUndefined();
});

test("deleting a memory cancels its jobs that have not ended", async () => {
  const id = await bench.client.memory();
  await bench.client.call("POST", `/v1/memories/${id}/insert`, { body: { tree: { type: "Day" } } });
  const deleted = await bench.client.call("DELETE", `/v1/memories/${id}`);
  expect(deleted.status).toBe(200);
  // One that ran meanwhile is told, and ends a moment later.
  const state = await until(async () => {
    const jobs = await bench.client.call("GET", `/v1/jobs?memory=${id}`);
    return jobs.body.items.map((job) => job.state).find((one) => one !== "active");
  });
  expect(state).toBe("cancelled");
});
