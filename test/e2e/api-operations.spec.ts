import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { openApiBench, type ApiBench } from "../support/api-bench.js";

let bench: ApiBench;

beforeAll(async () => {
  bench = await openApiBench({ environment: { ESPALIER_METRICS_PORT: "0" } });
});

afterAll(async () => {
  await bench.close();
});

test("metrics need an operator, and have the process's event loop and the backlog", async () => {
  const answer = await bench.client.call("GET", "/metrics");
  expect(answer.headers.get("content-type")).toMatch(/^text\/plain/);
  expect(answer.text).toMatch(/nodejs_eventloop_lag_p99_seconds/);
  expect(answer.text).toMatch(/espalier_queue_jobs\{.*queue="query".*\} \d/);
});

test("the docs page and its files come from this server alone", async () => {
  const page = await bench.client.call("GET", "/docs", { key: null });
  expect(page.status).toBe(200);
  expect(page.headers.get("content-security-policy")).toContain("default-src 'self'");
  const links = [...page.text.matchAll(/(?:src|href)="([^"]+)"/g)].map((match) => match[1] ?? "");
  expect(links.length).toBeGreaterThan(3);
  for (const link of links) {
    expect(link).toMatch(/^\.?\//);
    const file = await bench.client.call("GET", new URL(link, `${bench.api.url}/docs/`).pathname, { key: null });
    expect({ link, status: file.status }).toEqual({ link, status: 200 });
  }
  expect((await bench.client.call("GET", "/docs/json", { key: null })).body.openapi).toBe("3.1.1");
});

test("answers are taken for what they say they are, and the scripts of other sites read none", async () => {
  const headers = { origin: "https://elsewhere.example", "access-control-request-method": "POST" };
  for (const path of ["/v1/memories", "/v1/nothing", "/health/live", "/openapi.json", "/docs"]) {
    for (const method of ["GET", "OPTIONS"]) {
      const answer = await bench.client.call(method, path, { headers });
      const allowed = answer.headers.get("access-control-allow-origin");
      const options = answer.headers.get("x-content-type-options");
      expect({ path, method, allowed, options }).toEqual({ path, method, allowed: null, options: "nosniff" });
      if (method === "OPTIONS") expect(answer.status).toBeGreaterThanOrEqual(404);
    }
  }
});

test("metrics have a bind of their own that needs no key and serves nothing else", async () => {
  const url = bench.api.metricsUrl ?? "";
  const metrics = await fetch(url);
  expect(metrics.status).toBe(200);
  expect(await metrics.text()).toMatch(/espalier_/);
  expect((await fetch(new URL("/v1/memories", url))).status).toBe(404);
});

test("health names each dependency with its state and latency", async () => {
  const answer = await bench.client.call("GET", "/health/ready", { key: null });
  expect({ status: answer.status, body: answer.body }).toEqual({
    status: 200,
    body: {
      status: "ready",
      dependencies: {
        redis: { state: "up", latencyMs: expect.any(Number) },
        store: { state: "up", latencyMs: expect.any(Number) },
      },
    },
  });
});

test("a store that is away answers 503 store_unavailable with Retry-After, and readiness says which dependency it is", async () => {
  const other = await openApiBench();
  try {
    const memory = await other.client.memory();
    await other.stores.close();
    for (const path of [`/v1/memories/${memory}`, "/v1/memories"]) {
      const answer = await other.client.call("GET", path);
      expect({ status: answer.status, code: answer.body.code }).toEqual({ status: 503, code: "store_unavailable" });
      expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(0);
    }
    const ready = await other.client.call("GET", "/health/ready", { key: null });
    expect(ready.status).toBe(503);
    expect(ready.body).toMatchObject({ dependencies: { redis: { state: "up" }, store: { state: "down" } } });
  } finally {
    await other.close();
  }
});
