import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { Redis } from "ioredis";
import { randomUUID } from "node:crypto";
import { LIMITS, randomId } from "#core";
import { openApiBench, type ApiBench } from "../support/api-bench.js";
import type { Answer, ApiClient, Call } from "../support/api-client.js";
import { until } from "../support/until.js";

let bench: ApiBench;
let operator: string;
beforeAll(async () => {
  bench = await openApiBench({ handlers: { insert: async () => ({ revision: 1, inserted: 1, roots: [] }) } });
  const made = await bench.client.call("POST", "/v1/admin/keys", { body: { name: "ops", scopes: ["operator"] } });
  expect(made.body["tenant"]).toBeUndefined();
  operator = made.body.key;
});
afterAll(() => bench.close());

const call = (method: string, path: string, more: Call = {}): Promise<Answer> =>
  bench.client.call(method, path, { key: operator, ...more });

const shown = ({ status, body }: Answer): unknown[] => [status, body.code];

async function tenant(body: object = {}): Promise<string> {
  return (await call("POST", "/v1/admin/tenants", { body: { name: "acme", ...body } })).body.id;
}

async function keyOf(id: string, body: object = {}): Promise<string> {
  const answer = await call("POST", "/v1/admin/keys", {
    body: { scopes: ["read", "write", "admin"], tenant: id, ...body },
  });
  expect(answer.status).toBe(201);
  return answer.body.key;
}

describe("tenants", () => {
  test("an operator makes a tenant and its first key, which works inside it alone", async () => {
    const made = await call("POST", "/v1/admin/tenants", {
      body: { name: "acme", weight: 2.5, limits: { requestsPerSecond: 50, nodes: 0 } },
    });
    expect(made.status).toBe(201);
    expect(made.body).toMatchObject({ name: "acme", state: "active", weight: 2.5 });
    expect(made.body["limits"]).toEqual({ requestsPerSecond: 50, nodes: 0 });
    expect(made.headers.get("location")).toBe(`/v1/admin/tenants/${made.body.id}`);
    const { text } = await call("GET", `/v1/admin/tenants/${made.body.id}`);
    expect(text).toBe(made.text);
    const key = await keyOf(made.body.id);
    const memory = await bench.client.memory({}, key);
    expect(shown(await call("GET", `/v1/memories/${memory}`, { key: bench.client.key }))[0]).toBe(404);
    expect(shown(await call("GET", "/v1/admin/tenants", { key }))).toEqual([403, "forbidden"]);
  });

  test("a repeated request makes one tenant; names need not be unique, and find tenants", async () => {
    const [name, key] = [randomUUID(), randomUUID()];
    const make = (headers: Record<string, string>) =>
      call("POST", "/v1/admin/tenants", { body: { name }, headers: { ...headers } });
    const answers = await Promise.all(Array.from({ length: 20 }, () => make({ "idempotency-key": key })));
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    const other = await make({});
    const found = await call("GET", `/v1/admin/tenants?name=${name}`);
    expect(found.body.items.map(({ id }) => id)).toEqual([answers[0]?.body.id, other.body.id]);
  });

  test("a list goes on where its cursor says", async () => {
    const name = randomUUID();
    const made = [await tenant({ name }), await tenant({ name }), await tenant({ name })];
    const first = await call("GET", `/v1/admin/tenants?name=${name}&limit=2`);
    expect(first.body.items.map(({ id }) => id)).toEqual(made.slice(0, 2));
    const second = await call("GET", `/v1/admin/tenants?name=${name}&limit=2&cursor=${first.body.nextCursor ?? ""}`);
    expect(second.body.items.map(({ id }) => id)).toEqual(made.slice(2));
    expect(second.body.nextCursor).toBeUndefined();
    const all = await call("GET", "/v1/admin/tenants?limit=1");
    expect(all.body.items[0]).toMatchObject({ id: "default", state: "active" });
  });

  test("a patch changes what it names, and null goes back to the default", async () => {
    const id = await tenant({ limits: { burst: 5, nodes: 7 } });
    const patched = await call("PATCH", `/v1/admin/tenants/${id}`, {
      body: { name: "new", weight: 4, limits: { burst: null, bytes: 9 } },
    });
    expect(patched.body).toMatchObject({ id, name: "new", weight: 4, state: "active" });
    expect(patched.body["limits"]).toEqual({ nodes: 7, bytes: 9 });
  });

  test("a tenant can be without a limit that all others have", async () => {
    const id = await tenant({ limits: { queuedJobs: "unlimited", nodes: 5, memories: "unlimited" } });
    const path = `/v1/admin/tenants/${id}`;
    const limits = { queuedBytes: "unlimited", requestsPerSecond: "unlimited", nodes: 7 };
    const patched = await call("PATCH", path, { body: { limits } });
    expect(patched.body["limits"]).toEqual({ ...limits, queuedJobs: "unlimited", memories: "unlimited" });
    const holding = async () => (await call("GET", `/v1/admin/usage?tenant=${id}`)).body["limits"];
    expect(await holding()).toEqual({
      inFlight: LIMITS.tenantInFlight,
      nodes: 7,
      keys: LIMITS.tenantKeys,
      idempotencyKeys: LIMITS.tenantIdempotencyKeys,
    });
    await call("PATCH", path, { body: { limits: { queuedJobs: null } } });
    await until(async () => JSON.stringify(await holding()).includes(`"queuedJobs":${LIMITS.tenantQueuedJobs}`));
  });

  test("weights and limits that make no sense are refused by name, and change nothing", async () => {
    const id = await tenant();
    const path = `/v1/admin/tenants/${id}`;
    const before = (await call("GET", path)).text;
    const bad: readonly (readonly [string, string])[] = [
      ...["-1", "0", "1e-9", "1e9", "1e400", '"2"', "null", "[]"].map((json) => ["weight", json] as const),
      ...["-1", "0", "1e30", "1e400", '"5"'].map((json) => ["limits.requestsPerSecond", json] as const),
      ...["-1", "0", "1.5", "1e30", '"unlimited"'].map((json) => ["limits.burst", json] as const),
      ...["-1", "1.5", "9007199254740993", "true", '"none"'].map((json) => ["limits.nodes", json] as const),
      ["limits.inFlight", "0"],
      ["limits.speed", "1"],
      ["name", '""'],
      ["name", JSON.stringify("x".repeat(LIMITS.tenantNameBytes + 1))],
      ["suspended", "1"],
      ["id", '"ten_x"'],
    ];
    for (const [name, json] of bad) {
      const [member = "", inner] = name.split(".");
      const raw = inner === undefined ? `{"${member}":${json}}` : `{"${member}":{"${inner}":${json}}}`;
      const answer = await call("PATCH", path, { raw, headers: { "content-type": "application/json" } });
      expect({ name, json, answer: shown(answer) }).toEqual({ name, json, answer: [400, "invalid_request"] });
    }
    for (const json of ["NaN", "Infinity", "-Infinity"]) {
      const answer = await call("PATCH", path, {
        raw: `{"weight":${json}}`,
        headers: { "content-type": "application/json" },
      });
      expect(shown(answer)).toEqual([400, "malformed_json"]);
    }
    expect(shown(await call("PATCH", path, { body: {} }))).toEqual([400, "invalid_request"]);
    expect((await call("GET", path)).text).toBe(before);
  });

  test("a tenant that is not there answers the same, whatever its id looks like", async () => {
    for (const id of [randomId("ten"), "ten_1", "operator", randomId("mem"), "%00"]) {
      for (const [method, body] of [["GET"], ["PATCH", { name: "x" }]] as const) {
        const answer = await call(method, `/v1/admin/tenants/${id}`, body === undefined ? {} : { body });
        expect({ id, method, answer: shown(answer) }).toEqual({ id, method, answer: [404, "tenant_not_found"] });
      }
    }
  });

  test("a suspended tenant's keys are refused until it is let in again; the first tenant cannot be suspended", async () => {
    const id = await tenant();
    const key = await keyOf(id);
    const suspend = (suspended: boolean) => call("PATCH", `/v1/admin/tenants/${id}`, { body: { suspended } });
    expect((await suspend(true)).body.state).toBe("suspended");
    expect(shown(await call("GET", "/v1/memories", { key }))).toEqual([403, "tenant_suspended"]);
    expect((await suspend(false)).body.state).toBe("active");
    expect((await call("GET", "/v1/memories", { key })).status).toBe(200);
    const first = await call("PATCH", "/v1/admin/tenants/default", { body: { suspended: true } });
    expect(shown(first)).toEqual([409, "tenant_protected"]);
  });
});

describe("keys", () => {
  test("nobody but an operator acts on another tenant's keys", async () => {
    const [id, other] = [await tenant(), await tenant()];
    const admin = await keyOf(id);
    const body = { scopes: ["read"], tenant: other };
    expect(shown(await call("POST", "/v1/admin/keys", { key: admin, body }))).toEqual([403, "forbidden"]);
    expect(shown(await call("GET", `/v1/admin/keys?tenant=${other}`, { key: admin }))).toEqual([403, "forbidden"]);
    const own = await call("POST", "/v1/admin/keys", { key: admin, body: { scopes: ["read"], tenant: id } });
    expect([own.status, own.body["tenant"]]).toEqual([201, id]);
    const memory = await call("POST", "/v1/memories", { key: admin, body: { name: "m", tenant: other } });
    expect(shown(memory)).toEqual([400, "invalid_request"]);
    const [foreign] = (await call("GET", `/v1/admin/keys?tenant=${id}`)).body.items;
    const intruder = await keyOf(other);
    for (const [method, path] of [
      ["DELETE", ""],
      ["POST", "/rotate"],
    ] as const) {
      const answer = await call(method, `/v1/admin/keys/${foreign?.id ?? ""}${path}`, {
        key: intruder,
        ...(path !== "" && { body: {} }),
      });
      expect(shown(answer)).toEqual([404, "key_not_found"]);
    }
  });

  test("an operator's key belongs to no tenant: it reads and writes nothing, and its scope is asked for alone", async () => {
    expect(shown(await call("GET", "/v1/memories"))).toEqual([403, "forbidden"]);
    const id = await tenant();
    for (const body of [
      { scopes: ["operator"], tenant: id },
      { scopes: ["read", "operator"], tenant: id },
      { scopes: ["operator"], memoryPrefix: "mem_" },
    ]) {
      expect(shown(await call("POST", "/v1/admin/keys", { body }))).toEqual([400, "invalid_request"]);
    }
    expect(shown(await call("POST", "/v1/admin/keys", { body: { scopes: ["read"] } }))).toEqual([403, "forbidden"]);
    const unknown = { scopes: ["read"], tenant: randomId("ten") };
    expect(shown(await call("POST", "/v1/admin/keys", { body: unknown }))).toEqual([404, "tenant_not_found"]);
    const listed = await call("GET", "/v1/admin/keys");
    expect(listed.body.items.length).toBeGreaterThan(0);
    expect(listed.text).not.toContain(operator);
    for (const item of listed.body.items) expect(item).toMatchObject({ scopes: ["operator"] });
  });

  test("an operator's key is never bound to memories: its scope acts on the whole deployment", async () => {
    const full = bench.client.key;
    for (const scopes of [["operator"], ["read", "operator"]]) {
      const body = { scopes, memoryPrefix: "mem_0" };
      expect(shown(await call("POST", "/v1/admin/keys", { key: full, body }))).toEqual([400, "invalid_request"]);
    }
    const bound = await bench.key({ memoryPrefix: "mem_0" });
    const inherited = await call("POST", "/v1/admin/keys", { key: bound, body: { scopes: ["admin", "operator"] } });
    expect(shown(inherited)).toEqual([400, "invalid_request"]);
  });

  test("an operator whose key ends cannot rotate itself one that does not", async () => {
    const end = Date.now() + 3_600_000;
    const made = await call("POST", "/v1/admin/keys", { body: { name: "endless", scopes: ["operator"] } });
    const path = `/v1/admin/keys/${made.body.id}/rotate`;
    const ending = await bench.key({ tenant: "operator", scopes: ["operator"], expiresAt: end });
    const guest = await bench.key({ scopes: ["operator"], expiresAt: end });
    for (const key of [ending, guest]) {
      const rotated = await call("POST", path, { key, body: {} });
      expect([rotated.status, rotated.body["expiresAt"]]).toEqual([201, new Date(end).toISOString()]);
      const later = { expiresAt: new Date(end + 60_000).toISOString() };
      expect(shown(await call("POST", path, { key, body: later }))).toEqual([400, "invalid_request"]);
    }
  });

  test("only an operator changes an operator's key", async () => {
    const admin = await bench.key({ scopes: ["admin", "read", "write"] });
    const [full] = (await call("GET", "/v1/admin/keys", { key: bench.client.key })).body.items;
    const path = `/v1/admin/keys/${full?.id ?? ""}`;
    expect(shown(await call("DELETE", path, { key: admin }))).toEqual([403, "forbidden"]);
    expect(shown(await call("POST", `${path}/rotate`, { key: admin, body: {} }))).toEqual([403, "forbidden"]);
  });

  test("a rotated key and the new one are both valid until the overlap is over", async () => {
    const id = await tenant();
    const old = await keyOf(id, { name: "agent", memoryPrefix: "mem_0" });
    const [listed] = (await call("GET", `/v1/admin/keys?tenant=${id}`)).body.items;
    const path = `/v1/admin/keys/${listed?.id ?? ""}/rotate`;
    const rotated = await call("POST", path, { body: { overlapSeconds: 600 } });
    expect(rotated.status).toBe(201);
    expect(rotated.headers.get("cache-control")).toBe("no-store");
    expect(rotated.body).toMatchObject({ name: "agent", tenant: id, memoryPrefix: "mem_0" });
    expect(rotated.body["expiresAt"]).toBeUndefined();
    const { replaces } = rotated.body as unknown as { replaces: { id: string; expiresAt: string } };
    expect(replaces.id).toBe(listed?.id);
    expect(Math.abs(Date.parse(replaces.expiresAt) - Date.now() - 600_000)).toBeLessThan(60_000);
    for (const key of [old, rotated.body.key]) expect((await call("GET", "/v1/memories", { key })).status).toBe(200);
    const again = await call("POST", path, { body: { overlapSeconds: 0 } });
    expect(again.status).toBe(201);
    expect(shown(await call("GET", "/v1/memories", { key: old }))).toEqual([401, "key_expired"]);
    expect((await call("GET", "/v1/memories", { key: rotated.body.key })).status).toBe(200);
  });

  test("a key that was made to end is replaced by one that lives as long", async () => {
    const id = await tenant();
    const expiresAt = new Date(Date.now() + 86_400_000).toISOString();
    await keyOf(id, { expiresAt });
    const [listed] = (await call("GET", `/v1/admin/keys?tenant=${id}`)).body.items;
    const rotated = await call("POST", `/v1/admin/keys/${listed?.id ?? ""}/rotate`, { body: {} });
    expect(Date.parse(String(rotated.body["expiresAt"]))).toBeGreaterThanOrEqual(Date.parse(expiresAt));
    for (const body of [{ overlapSeconds: -1 }, { overlapSeconds: 1e12 }, { expiresAt: "2020-01-01T00:00:00Z" }]) {
      const refused = await call("POST", `/v1/admin/keys/${listed?.id ?? ""}/rotate`, { body });
      expect(shown(refused)).toEqual([400, "invalid_request"]);
    }
  });

  test("a rotation that is repeated makes one key, and shows its secret to who asked", async () => {
    const id = await tenant();
    await keyOf(id);
    const [listed] = (await call("GET", `/v1/admin/keys?tenant=${id}`)).body.items;
    const headers = { "idempotency-key": randomUUID() };
    const rotate = () => call("POST", `/v1/admin/keys/${listed?.id ?? ""}/rotate`, { body: {}, headers });
    const first = await rotate();
    expect((await rotate()).text).toBe(first.text);
    expect((await call("GET", `/v1/admin/keys?tenant=${id}`)).body.items).toHaveLength(2);
  });

  test("keys that nobody made, and keys in URLs, are refused and never logged", async () => {
    const [real, forged] = [await keyOf(await tenant()), `esp_${"A".repeat(43)}`];
    for (const key of [forged, `${real}x`, real.slice(0, -1), "esp_", "operator", "' OR 1=1 --"]) {
      expect(shown(await call("GET", "/v1/memories", { key }))).toEqual([401, "unauthorized"]);
    }
    const urls = [`?api_key=${real}`, `?token=${real}`, `?q=${real}`, `?name=${encodeURIComponent(`x ${real}`)}`];
    for (const url of urls) {
      const answer = await call("GET", `/v1/memories${url}`, { key: real });
      expect({ url: url.slice(0, 6), answer: shown(answer) }).toMatchObject({ answer: [400, "invalid_request"] });
      expect(answer.text).not.toContain(real);
    }
    expect(bench.log.join("")).not.toContain(real);
    expect(bench.log.join("")).not.toContain(forged);
  });
});

test("weights hold in the queues at once, and a Redis that lost them knows them again when an API starts", async () => {
  const id = await tenant({ weight: 3 });
  const redis = new Redis({ path: bench.redis.address });
  const weights = async (): Promise<readonly (string | null)[]> =>
    Promise.all((await redis.keys("*-lane-*:weight")).map((key) => redis.hget(key, id)));
  expect(await weights()).toEqual(["3", "3"]);
  await call("PATCH", `/v1/admin/tenants/${id}`, { body: { weight: 0.5 } });
  expect(await weights()).toEqual(["0.5", "0.5"]);
  await redis.del(...(await redis.keys("*-lane-*:weight")));
  await bench.replica();
  await until(async () => ((await weights()).join() === "0.5,0.5" ? true : undefined));
  redis.disconnect();
});

describe("several API processes", () => {
  const status = async (client: ApiClient, key: string): Promise<number> =>
    (await client.call("GET", "/v1/memories", { key })).status;

  test("what one revokes, suspends or rotates, the others refuse within a second", async () => {
    const clients = [bench.client, await bench.replica(), await bench.replica()];
    const id = await tenant();
    const [revoked, rotated, kept] = [await keyOf(id), await keyOf(id), await keyOf(id)];
    const [first, second] = (await call("GET", `/v1/admin/keys?tenant=${id}`)).body.items;
    const all = async (key: string): Promise<readonly number[]> =>
      Promise.all(clients.map((client) => status(client, key)));
    for (const key of [revoked, rotated, kept]) expect(await all(key)).toEqual([200, 200, 200]);
    await call("DELETE", `/v1/admin/keys/${first?.id ?? ""}`);
    await until(async () => (await all(revoked)).every((one) => one === 401) || undefined, 1_000);
    await call("POST", `/v1/admin/keys/${second?.id ?? ""}/rotate`, { body: { overlapSeconds: 0 } });
    await until(async () => (await all(rotated)).every((one) => one === 401) || undefined, 1_000);
    expect(await all(kept)).toEqual([200, 200, 200]);
    await call("PATCH", `/v1/admin/tenants/${id}`, { body: { suspended: true } });
    await until(async () => (await all(kept)).every((one) => one === 403) || undefined, 1_000);
  });
});
