import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { randomId } from "#core";
import { openApiBench, type ApiBench } from "../support/api-bench.js";
import type { Answer } from "../support/api-client.js";

/** A body that each operation accepts, so that only the foreign id can be what it refuses. */
const BODIES: Readonly<Record<string, unknown>> = {
  patchMemory: { name: "taken over" },
  insert: { tree: { type: "Day" } },
  query: { query: "//Day" },
  patchWebhook: { name: "taken over" },
};

interface Route {
  readonly id: string;
  readonly method: string;
  readonly path: string;
}

let bench: ApiBench;
let foreignKey: string;
let routes: readonly Route[];
/** Ids of tenant `default`, by the parameter's name. */
let owned: Readonly<Record<string, string>>;

beforeAll(async () => {
  bench = await openApiBench({ handlers: { insert: async () => ({ revision: 1, inserted: 1, roots: [] }) } });
  foreignKey = await bench.key({ tenant: "ten_other", scopes: ["read", "write", "admin"] });
  const memory = await bench.client.memory({ name: "secret", labels: { user: "u1" } });
  const job = (await bench.client.insert(memory, { tree: { type: "Day" } })).body.id;
  const key = (await bench.client.call("POST", "/v1/admin/keys", { body: { scopes: ["read"] } })).body.id;
  const webhook = (await bench.client.call("POST", "/v1/webhooks", { body: { url: "https://93.184.215.14/" } })).body
    .id;
  owned = { memory, job, webhook, delivery: job.replace("job_", "evt_"), key, tenant: "default" };
  const document = (await bench.client.call("GET", "/openapi.json")).body;
  routes = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      id: operation.operationId,
      method: method.toUpperCase(),
      path,
    })),
  );
});

afterAll(async () => {
  await bench.close();
});

const fill = (path: string, ids: Readonly<Record<string, string>>): string =>
  path.replaceAll(/\{([a-z]+)\}/g, (_, name: string) => ids[name] ?? "");

const ask = (route: Route, ids: Readonly<Record<string, string>>, key: string | null): Promise<Answer> =>
  bench.client.call(route.method, fill(route.path, ids), {
    key,
    ...(BODIES[route.id] !== undefined && { body: BODIES[route.id] }),
  });

const shown = ({ status, body }: Answer): unknown => ({ status, body: { ...body, requestId: undefined } });

test("on every route with an id, another tenant's thing answers exactly as an unknown one", async () => {
  const withId = routes.filter(({ path }) => path.includes("{") && !path.includes("{tenant}"));
  expect(withId.length).toBeGreaterThanOrEqual(11);
  const unknown = {
    memory: randomId("mem"),
    job: randomId("job"),
    webhook: randomId("whk"),
    delivery: "evt_1",
    key: randomId("key"),
  };
  const malformed = { memory: "mem_1", job: "nonsense", webhook: "whk_1", delivery: "1", key: "key_" };
  for (const route of withId) {
    const foreign = await ask(route, owned, foreignKey);
    expect({ route: route.id, status: foreign.status }).toEqual({ route: route.id, status: 404 });
    expect({ route: route.id, ...(shown(await ask(route, unknown, foreignKey)) as object) }).toEqual({
      route: route.id,
      ...(shown(foreign) as object),
    });
    expect(shown(await ask(route, malformed, foreignKey))).toEqual(shown(foreign));
  }
});

test("what a foreign key tried changed nothing", async () => {
  const memory = await bench.client.call("GET", `/v1/memories/${owned["memory"]}`);
  expect(memory.body).toMatchObject({ name: "secret", labels: { user: "u1" } });
  expect((await bench.client.call("GET", `/v1/jobs/${owned["job"]}`)).body.state).toBe("completed");
  const keys = await bench.client.call("GET", "/v1/admin/keys");
  expect(keys.body.items.map(({ id }) => id)).toContain(owned["key"]);
});

test("explain does not know another tenant's memory", async () => {
  const explain = (memory: string) =>
    bench.client.call("POST", "/v1/query/explain", { key: foreignKey, body: { query: "//Day", memory } });
  const foreign = await explain(owned["memory"] ?? "");
  expect(foreign.status).toBe(404);
  expect(shown(await explain(randomId("mem")))).toEqual(shown(foreign));
});

test("lists show the own tenant only", async () => {
  for (const path of ["/v1/memories", "/v1/memories?label.user=u1", "/v1/jobs", `/v1/jobs?memory=${owned["memory"]}`]) {
    const answer = await bench.client.call("GET", path, { key: foreignKey });
    expect({ path, status: answer.status, items: answer.body.items }).toEqual({ path, status: 200, items: [] });
  }
  const keys = await bench.client.call("GET", "/v1/admin/keys", { key: foreignKey });
  expect(keys.body.items).toHaveLength(1);
});

test("every route but health, docs and the document itself needs a key", async () => {
  const open = ["live", "ready", "openApi"];
  for (const route of routes) {
    const answer = await ask(route, owned, null);
    if (open.includes(route.id)) expect(answer.status).toBe(200);
    else {
      expect({ route: route.id, status: answer.status, code: answer.body.code }).toEqual({
        route: route.id,
        status: 401,
        code: "unauthorized",
      });
      expect(answer.headers.get("www-authenticate")).toMatch(/^Bearer/);
    }
  }
});

describe("keys", () => {
  test("a key works with the scopes that it has, and the refusal names the one that it lacks", async () => {
    const key = await bench.key({ scopes: ["read"] });
    expect((await bench.client.call("GET", "/v1/memories", { key })).status).toBe(200);
    const refused = await bench.client.call("POST", "/v1/memories", { key, body: { name: "x" } });
    expect(refused.status).toBe(403);
    expect(refused.body).toMatchObject({ code: "forbidden", scope: "write" });
    expect((await bench.client.call("GET", "/v1/admin/keys", { key })).status).toBe(403);
    expect((await bench.client.call("GET", "/metrics", { key })).status).toBe(403);
  });

  test("an expired key says that it has expired", async () => {
    const key = await bench.key({ expiresAt: Date.now() - 1_000 });
    const answer = await bench.client.call("GET", "/v1/memories", { key });
    expect({ status: answer.status, code: answer.body.code }).toEqual({ status: 401, code: "key_expired" });
  });

  test("a made key is shown once, works, and stops working when it is deleted", async () => {
    const made = await bench.client.call("POST", "/v1/admin/keys", { body: { name: "ci", scopes: ["read"] } });
    expect(made.status).toBe(201);
    expect(made.headers.get("cache-control")).toBe("no-store");
    const { id, key } = made.body as { id: string; key: string };
    expect((await bench.client.call("GET", "/v1/memories", { key })).status).toBe(200);
    const list = await bench.client.call("GET", "/v1/admin/keys?limit=1000");
    expect(list.text).not.toContain(key);
    expect((await bench.client.call("DELETE", `/v1/admin/keys/${id}`)).body).toEqual({ id, deleted: true });
    expect((await bench.client.call("GET", "/v1/memories", { key })).status).toBe(401);
    expect((await bench.client.call("DELETE", `/v1/admin/keys/${id}`)).body.code).toBe("key_not_found");
  });

  test("a key gives no scope that it lacks, and never reaches further than its maker", async () => {
    const admin = await bench.key({ scopes: ["admin"] });
    const operator = await bench.client.call("POST", "/v1/admin/keys", { key: admin, body: { scopes: ["operator"] } });
    expect(operator.status).toBe(403);
    const reader = await bench.client.call("POST", "/v1/admin/keys", {
      key: admin,
      body: { scopes: ["admin", "read"] },
    });
    expect({ status: reader.status, scope: reader.body["scope"] }).toEqual({ status: 403, scope: "read" });
    const bound = await bench.key({ scopes: ["admin", "read"], memoryPrefix: owned["memory"] ?? "" });
    const wider = await bench.client.call("POST", "/v1/admin/keys", {
      key: bound,
      body: { scopes: ["read"], memoryPrefix: "mem_" },
    });
    expect(wider.status).toBe(403);
    const inherited = await bench.client.call("POST", "/v1/admin/keys", { key: bound, body: { scopes: ["read"] } });
    expect(inherited.body.memoryPrefix).toBe(owned["memory"]);
  });

  test("a key that is bound to a prefix sees and deletes only keys bound within it", async () => {
    const memoryPrefix = owned["memory"] ?? "";
    const bound = await bench.key({ scopes: ["admin", "read"], memoryPrefix });
    const own = await bench.client.call("POST", "/v1/admin/keys", { key: bound, body: { scopes: ["read"] } });
    const list = await bench.client.call("GET", "/v1/admin/keys?limit=1000", { key: bound });
    expect(list.body.items.map(({ id }) => id)).toContain(own.body.id);
    expect(list.body.items.map(({ id }) => id)).not.toContain(owned["key"]);
    for (const item of list.body.items) expect(item).toMatchObject({ memoryPrefix });
    const foreign = await bench.client.call("DELETE", `/v1/admin/keys/${owned["key"]}`, { key: bound });
    expect({ status: foreign.status, code: foreign.body.code }).toEqual({ status: 404, code: "key_not_found" });
    const deleted = await bench.client.call("DELETE", `/v1/admin/keys/${own.body.id}`, { key: bound });
    expect(deleted.status).toBe(200);
  });

  test("a key ends with its maker at the latest", async () => {
    const end = Date.now() + 3_600_000;
    const key = await bench.key({ scopes: ["admin"], expiresAt: end });
    const make = (body: object): Promise<Answer> =>
      bench.client.call("POST", "/v1/admin/keys", { key, body: { scopes: ["admin"], ...body } });
    const later = await make({ expiresAt: new Date(end + 1).toISOString() });
    expect({ status: later.status, code: later.body.code }).toEqual({ status: 400, code: "invalid_request" });
    expect((await make({})).body["expiresAt"]).toBe(new Date(end).toISOString());
    const sooner = new Date(end - 60_000).toISOString();
    expect((await make({ expiresAt: sooner })).body["expiresAt"]).toBe(sooner);
  });

  test("a key that is bound to a memory sees it, its jobs and nothing else", async () => {
    const other = await bench.client.memory({ name: "other" });
    const job = (await bench.client.insert(other, { tree: { type: "Day" } })).body.id;
    const key = await bench.key({ scopes: ["read", "write"], memoryPrefix: owned["memory"] ?? "" });
    expect((await bench.client.call("GET", `/v1/memories/${owned["memory"]}`, { key })).status).toBe(200);
    expect((await bench.client.call("GET", `/v1/memories/${other}`, { key })).status).toBe(404);
    expect((await bench.client.call("GET", `/v1/jobs/${job}`, { key })).status).toBe(404);
    const memories = await bench.client.call("GET", "/v1/memories", { key });
    expect(memories.body.items.map(({ id }) => id)).toEqual([owned["memory"]]);
    const jobs = await bench.client.call("GET", "/v1/jobs", { key });
    expect(jobs.body.items.map(({ memory }) => memory)).toEqual([owned["memory"]]);
    expect((await bench.client.call("POST", "/v1/memories", { key, body: { name: "x" } })).status).toBe(403);
  });

  test("a key in a URL is refused and does not reach the log", async () => {
    const secret = await bench.key();
    const answer = await bench.client.call("GET", `/v1/memories?api_key=${secret}`, { key: null });
    expect({ status: answer.status, code: answer.body.code }).toEqual({ status: 400, code: "invalid_request" });
    expect(answer.text).not.toContain(secret);
    expect(bench.log.join("")).not.toContain(secret);
  });

  test("logs carry ids, never keys or bodies", async () => {
    const marker = "a text that must stay private";
    const answer = await bench.client.call("POST", "/v1/memories", {
      body: { name: marker },
      headers: { "x-request-id": "trace-42" },
    });
    expect(answer.headers.get("x-request-id")).toBe("trace-42");
    const lines = bench.log.join("");
    expect(lines).toContain("trace-42");
    expect(lines).not.toContain(marker);
    expect(lines).not.toContain(bench.client.key);
  });
});
