import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { connect, type Socket } from "node:net";
import { LIMITS } from "#core";
import type { JobHandler } from "#jobs";
import { openApiBench, type ApiBench } from "../support/api-bench.js";
import { until } from "../support/until.js";

/** 5,000 need twice as many open files; ESPALIER_WAITERS=5000 tells its figures. */
const WAITERS = Number(process.env["ESPALIER_WAITERS"] ?? 400);
const PATIENCE_MS = 60_000;

const gate = Promise.withResolvers<undefined>();

/** Says much, and waits for the gate. */
const insert: JobHandler = async (_payload, { progress }) => {
  for (let done = 0; done < 200; done += 1) {
    progress(done, 200);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  await gate.promise;
  return { revision: 1, inserted: 1, roots: [] };
};

let bench: ApiBench;
let memory: string;

beforeAll(async () => {
  bench = await openApiBench({
    settings: { progressMs: 0 },
    handlers: {
      insert,
      query: async (_payload, { id }) => ({ job: id, query: "//Day", rows: [] }),
      retext: async () => gate.promise,
    },
  });
  memory = await bench.client.memory();
});

afterAll(async () => {
  gate.resolve(undefined);
  await bench.close();
});

const mebibytes = (): number => Math.round(process.memoryUsage().rss / 1024 / 1024);

test("many requests that wait are held by one process, and others are answered beside them", async () => {
  const before = mebibytes();
  const abort = new AbortController();
  const { body } = await bench.client.call("POST", `/v1/memories/${memory}/insert`, {
    body: { tree: { type: "Day" } },
  });
  // The insert ahead of them holds the gate: inserts of a memory go one by one.
  const waits = Array.from({ length: WAITERS }, () =>
    bench.client
      .insert(memory, { tree: { type: "Day" } }, { headers: { prefer: "wait=120" }, signal: abort.signal })
      .catch(() => undefined),
  );
  await until(
    async () =>
      (await bench.client.call("GET", "/v1/jobs?limit=1000&state=queued")).body.items[WAITERS > 999 ? 999 : WAITERS - 1]
        ? true
        : undefined,
    PATIENCE_MS,
  );
  const begun = performance.now();
  expect((await bench.client.query(memory, { query: "//Day" })).status).toBe(200);
  if (process.env["ESPALIER_WAITERS"] !== undefined) {
    const milliseconds = Math.round(performance.now() - begun);
    process.stderr.write(
      `${WAITERS} waiters: ${mebibytes() - before} MiB more with their clients, query ${milliseconds} ms\n`,
    );
  }
  expect((await bench.client.call("GET", `/v1/jobs/${body.id}`)).body.state).toBe("active");
  abort.abort();
  await Promise.all(waits);
}, 180_000);

/** Asks for the events of a job and reads nothing. */
async function deafClient(job: string): Promise<Socket> {
  const { hostname, port } = new URL(bench.api.url);
  const socket = connect({ host: hostname, port: Number(port) });
  socket.on("error", () => undefined);
  socket.pause();
  socket.write(`GET /v1/jobs/${job}/events HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${bench.client.key}\r\n\r\n`);
  return socket;
}

test("followers that never read, and those that leave, hold nothing up: their places are free again", async () => {
  const { body } = await bench.client.call("POST", `/v1/memories/${memory}/insert`, {
    body: { tree: { type: "Day" } },
  });
  const half = LIMITS.eventStreams / 2;
  const deaf = await Promise.all(Array.from({ length: half }, () => deafClient(body.id)));
  const refused = await until(async () => {
    const answer = await bench.client.open("GET", `/v1/jobs/${body.id}/events`);
    const { status } = answer;
    await answer.body?.cancel();
    return status === 429 ? answer : undefined;
  }, PATIENCE_MS);
  expect(refused.headers.get("retry-after")).toBeDefined();
  expect((await bench.client.query(memory, { query: "//Day" })).status).toBe(200);
  for (const socket of deaf) socket.destroy();
  await until(async () => {
    const answer = await bench.client.open("GET", `/v1/jobs/${body.id}/events`);
    const { status } = answer;
    await answer.body?.cancel();
    return status === 200 ? true : undefined;
  }, PATIENCE_MS);
}, 180_000);
