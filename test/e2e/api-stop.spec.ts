import { afterEach, expect, test } from "@jest/globals";
import { once } from "node:events";
import { connect } from "node:net";
import { openApiBench, type ApiBench } from "../support/api-bench.js";
import { until } from "../support/until.js";

let bench: ApiBench | undefined;
let release = Promise.withResolvers<undefined>();
let running = 0;

const handlers = {
  query: async (_payload: unknown, context: { readonly id: string }) => {
    running += 1;
    await release.promise;
    return { job: context.id, rows: [] };
  },
};

afterEach(async () => {
  release.resolve(undefined);
  await bench?.close();
  release = Promise.withResolvers<undefined>();
  running = 0;
});

test("a stop answers the requests that wait with 202, ends the event streams, and refuses new connections", async () => {
  bench = await openApiBench({ handlers });
  const { client, api } = bench;
  const memory = await client.memory();
  const waiting = client.query(memory, { query: "//Day" });
  await until(() => (running === 1 ? true : undefined));
  const { body } = await client.query(memory, { query: "//Day" }, { headers: { prefer: "wait=0" } });
  const stream = await client.open("GET", `/v1/jobs/${body.id}/events`);
  const events = stream.body!.pipeThrough(new TextDecoderStream()).getReader();
  expect((await events.read()).value).toContain("event: state");
  const stopped = performance.now();
  await api.close();
  expect(performance.now() - stopped).toBeLessThan(5_000);
  expect((await waiting).status).toBe(202);
  while (!(await events.read()).done);
  await expect(client.call("GET", "/health/live")).rejects.toThrow();
});

test("a client that never lets go is cut when the time to stop is over", async () => {
  bench = await openApiBench({ handlers, environment: { ESPALIER_SHUTDOWN_SECONDS: "1" } });
  const { hostname, port } = new URL(bench.api.url);
  const socket = connect(Number(port), hostname);
  socket.on("error", () => undefined);
  const head = `POST /v1/memories HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${bench.client.key}\r\n`;
  socket.write(`${head}content-type: application/json\r\ncontent-length: 100\r\nexpect: 100-continue\r\n\r\n{"name"`);
  await once(socket, "data");
  const stopped = performance.now();
  await bench.api.close();
  const took = performance.now() - stopped;
  expect(took).toBeGreaterThan(900);
  expect(took).toBeLessThan(4_000);
  socket.destroy();
});
