import { expect, test } from "@jest/globals";
import { execFile } from "node:child_process";
import { join } from "node:path";
import { createMetrics, serveMetrics } from "#telemetry";
import { ROOT } from "./compose-file.js";

/** Exit code and words of the image's health check. */
function check(port: string): Promise<{ readonly code: unknown; readonly said: string }> {
  const { promise, resolve } = Promise.withResolvers<{ code: unknown; said: string }>();
  const options = { env: { ESPALIER_METRICS_PORT: port } };
  execFile(process.execPath, [join(ROOT, "scripts/healthcheck.mjs")], options, (error, _stdout, said) => {
    resolve({ code: error?.code ?? 0, said });
  });
  return promise;
}

test("a process is well while it answers and looks at its queues", async () => {
  let now = 0;
  const metrics = createMetrics("worker-query", { now: () => now });
  const server = await serveMetrics(metrics, { host: "127.0.0.1", port: 0 });
  try {
    expect(await check(String(server.port))).toEqual({ code: 0, said: "" });
    metrics.workerTurned("query");
    now = 60_000;
    expect(await check(String(server.port))).toEqual({ code: 0, said: "" });
    now = 130_000;
    expect(await check(String(server.port))).toEqual({ code: 1, said: expect.stringMatching(/queue query .* 130/s) });
  } finally {
    await server.close();
  }
  expect(await check(String(server.port))).toEqual({ code: 1, said: expect.stringMatching(/did not answer/) });
  expect(await check("")).toMatchObject({ code: 1 });
});
