import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { openApiBench, type ApiBench } from "../support/api-bench.js";
import { until } from "../support/until.js";

const SECRET = "what a tenant sent";

let bench: ApiBench;
let job: string;

beforeAll(async () => {
  // A job that has completed leaves its queue.
  bench = await openApiBench({ handlers: { insert: () => new Promise<never>(() => undefined) } });
  const memory = await bench.client.memory();
  const tree = { type: "Day", attributes: { text: SECRET } };
  job = (await bench.client.insert(memory, { tree }, { headers: { prefer: "respond-async" } })).body.id;
  const path = `/api/queues/insert/default.${job}`;
  await until(async () => (await ask(path, basic(bench.client.key))).text.includes("processedOn") || undefined);
});

afterAll(async () => {
  await bench.close();
});

const basic = (key: string): string => `Basic ${Buffer.from(`operator:${key}`).toString("base64")}`;

const ask = (path: string, authorization?: string, method = "GET") =>
  bench.client.call(method, `/admin/queues${path}`, {
    key: null,
    ...(authorization !== undefined && { headers: { authorization } }),
  });

test("a browser is asked for a password, and an operator's key is one", async () => {
  const asked = await ask("");
  expect({ status: asked.status, code: asked.body.code }).toEqual({ status: 401, code: "unauthorized" });
  expect(asked.headers.get("www-authenticate")).toMatch(/^Basic realm=/);
  for (const wrong of ["Basic ???", basic("esp_wrong"), basic("")]) expect((await ask("", wrong)).status).toBe(401);
  const page = await ask("", basic(bench.client.key));
  expect(page.status).toBe(200);
  expect(page.headers.get("content-type")).toContain("text/html");
  expect((await ask("", `Bearer ${bench.client.key}`)).status).toBe(200);
});

test("a key without the scope operator, one in a query string, and a script without a key see nothing", async () => {
  const key = await bench.key({ scopes: ["read", "write", "admin"] });
  const refused = await ask("/api/queues", basic(key));
  expect(refused.status).toBe(403);
  expect(refused.body).toMatchObject({ code: "forbidden", scope: "operator" });
  for (const path of [`?key=${bench.client.key}`, "/api/queues", "/static/js/none.js", "/api/queues/insert/1"]) {
    expect((await ask(path)).status).toBe(401);
  }
});

test("the page loads nothing from elsewhere and may not be framed", async () => {
  const page = await ask("", basic(bench.client.key));
  expect(page.text).not.toMatch(/(href|src)="https?:/);
  expect(page.headers.get("content-security-policy")).toMatch(/default-src 'self'.*frame-ancestors 'none'/);
  const scripts = [...page.text.matchAll(/(?:src|href)="(static\/[^"]+)"/g)].map((match) => match[1] ?? "");
  expect(scripts.length).toBeGreaterThan(1);
  for (const script of scripts) expect((await ask(`/${script}`, basic(bench.client.key))).status).toBe(200);
});

test("every queue is shown, with the ids of its jobs and without what they carry", async () => {
  const shown = await ask(
    "/api/queues?activeQueue=insert&status=active&page=1&jobsPerPage=10",
    basic(bench.client.key),
  );
  expect(shown.status).toBe(200);
  const queues = shown.body["queues"] as readonly { name: string; readOnlyMode: boolean; jobs: object[] }[];
  expect(queues.map(({ name }) => name).sort()).toEqual(["deliver", "insert", "maintain", "query", "rows", "score"]);
  expect(queues.every(({ readOnlyMode }) => readOnlyMode)).toBe(true);
  expect(shown.text).toContain(job);
  expect(shown.text).not.toContain(SECRET);
  const one = await ask(`/api/queues/insert/default.${job}`, basic(bench.client.key));
  expect(one.text).toContain(job);
  expect(one.text).not.toContain(SECRET);
});

test("nothing can be changed there", async () => {
  const changes = [
    "insert/pause",
    `insert/default.${job}/clean`,
    "insert/clean/completed",
    "insert/add",
    "insert/obliterate",
  ];
  for (const change of changes) {
    for (const method of ["PUT", "POST", "DELETE", "PATCH"]) {
      const answer = await ask(`/api/queues/${change}`, basic(bench.client.key), method);
      expect([404, 405]).toContain(answer.status);
    }
  }
  expect((await ask(`/api/queues/insert/default.${job}`, basic(bench.client.key))).status).toBe(200);
});
