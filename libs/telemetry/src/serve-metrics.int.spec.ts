import { expect, test } from "@jest/globals";
import { createMetrics } from "./metrics.js";
import { serveMetrics } from "./serve-metrics.js";

test("a port of its own serves the metrics, and nothing else", async () => {
  const metrics = createMetrics("worker", { now: () => 0 });
  metrics.cacheLookup({ cache: "embedding", hits: 2, misses: 0 });
  const server = await serveMetrics(metrics, { host: "127.0.0.1", port: 0 });
  const ask = (path: string, method = "GET"): Promise<Response> =>
    fetch(`http://127.0.0.1:${server.port}${path}`, { method });
  const answer = await ask("/metrics");
  expect(answer.headers.get("content-type")).toContain("text/plain");
  expect(await answer.text()).toContain('espalier_cache_hits_total{cache="embedding",process="worker"} 2');
  expect((await ask("/v1/memories")).status).toBe(404);
  expect((await ask("/metrics", "POST")).status).toBe(404);
  await server.close();
  await expect(ask("/metrics")).rejects.toThrow();
});
