import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { randomUUID } from "node:crypto";
import { LIMITS } from "#core";
import { openApiBench, type ApiBench } from "../support/api-bench.js";
import type { Answer, Call } from "../support/api-client.js";

let bench: ApiBench;
beforeAll(async () => {
  bench = await openApiBench({ handlers: { insert: async () => ({ revision: 1, inserted: 1, roots: [] }) } });
});
afterAll(() => bench.close());

const call = (method: string, path: string, key: string, more: Call = {}): Promise<Answer> =>
  bench.client.call(method, path, { ...more, headers: { "idempotency-key": key, ...more.headers } });

test("of 50 equal requests at once one makes a memory, and all answer it", async () => {
  const key = randomUUID();
  const body = { name: `once-${key}` };
  const answers = await Promise.all(Array.from({ length: 50 }, () => call("POST", "/v1/memories", key, { body })));
  expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 201));
  expect(new Set(answers.map(({ headers }) => headers.get("location"))).size).toBe(1);
  expect(answers.filter(({ headers }) => headers.get("idempotency-replayed") === null)).toHaveLength(1);
  expect((await bench.client.call("GET", `/v1/memories?name=${body.name}`)).body.items).toHaveLength(1);
});

test("the same key with another body, another route or another method is a conflict; another tenant's is its own", async () => {
  const key = randomUUID();
  await call("POST", "/v1/memories", key, { body: { name: "one" } });
  const other = await call("POST", "/v1/memories", key, { body: { name: "two" } });
  expect([other.status, other.body.code]).toEqual([409, "idempotency_conflict"]);
  const memory = await bench.client.memory();
  expect((await call("DELETE", `/v1/memories/${memory}`, key)).body.code).toBe("idempotency_conflict");
  const insert = await call("POST", `/v1/memories/${memory}/insert`, key, { body: { tree: { type: "Day" } } });
  expect(insert.body.code).toBe("idempotency_conflict");
  const foreign = await bench.key({ tenant: "ten_other" });
  expect((await call("POST", "/v1/memories", key, { body: { name: "two" }, key: foreign })).status).toBe(201);
});

test("a deletion that is repeated answers the first one's counts; without the key the memory is not there", async () => {
  const memory = await bench.client.memory();
  const key = randomUUID();
  const first = await call("DELETE", `/v1/memories/${memory}`, key);
  expect(first.status).toBe(200);
  const again = await call("DELETE", `/v1/memories/${memory}`, key);
  expect([again.status, again.text, again.headers.get("idempotency-replayed")]).toEqual([200, first.text, "true"]);
  expect((await bench.client.call("DELETE", `/v1/memories/${memory}`)).status).toBe(404);
  expect((await call("DELETE", `/v1/memories/${memory}`, randomUUID())).status).toBe(404);
});

test("what one key was answered is not told to a key that is bound to other memories", async () => {
  const [memory, other] = [await bench.client.memory(), await bench.client.memory()];
  const job = (await bench.client.insert(memory, { tree: { type: "Day" } })).body.id;
  const bound = await bench.key({ scopes: ["read", "write"], memoryPrefix: other });
  for (const [method, path] of [
    ["DELETE", `/v1/jobs/${job}`],
    ["DELETE", `/v1/memories/${memory}`],
    ["POST", "/v1/dead-letters/replay"],
  ] as const) {
    const key = randomUUID();
    const body = method === "POST" ? { body: {} } : {};
    await call(method, path, key, body);
    const repeated = await call(method, path, key, { ...body, key: bound });
    expect({ path, code: repeated.body.code }).toEqual({ path, code: "idempotency_conflict" });
    const unknown = await call(method, path, randomUUID(), { ...body, key: bound });
    expect({ path, status: unknown.status }).toEqual({ path, status: method === "POST" ? 202 : 404 });
  }
});

test("a key's secret is shown again to who asked, and nobody else can read it", async () => {
  const [key, wish] = [randomUUID(), { body: { scopes: ["read"] } }];
  const first = await call("POST", "/v1/admin/keys", key, wish);
  expect(first.status).toBe(201);
  expect((await call("POST", "/v1/admin/keys", key, wish)).text).toBe(first.text);
  const other = await bench.key();
  expect((await call("POST", "/v1/admin/keys", key, { ...wish, key: other })).body.code).toBe("idempotency_conflict");
});

test("changes of settings and refusals are repeated as they were", async () => {
  const memory = await bench.client.memory();
  const [key, bad] = [randomUUID(), randomUUID()];
  const patch = (name: string, under: string) => call("PATCH", `/v1/memories/${memory}`, under, { body: { name } });
  const first = await patch("new", key);
  expect((await patch("new", key)).text).toBe(first.text);
  expect((await patch("", bad)).status).toBe((await patch("", bad)).status);
});

test("keys that are none are refused, and change nothing", async () => {
  for (const key of ["x".repeat(LIMITS.idempotencyKeyBytes + 1), "a b"]) {
    const answer = await call("POST", "/v1/memories", key, { body: { name: "never" } });
    expect([answer.status, answer.body.code]).toEqual([400, "invalid_request"]);
  }
  expect((await bench.client.call("GET", "/v1/memories?name=never")).body.items).toEqual([]);
});
