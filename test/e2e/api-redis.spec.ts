import { afterEach, expect, test } from "@jest/globals";
import { openApiBench, type ApiBench } from "../support/api-bench.js";
import type { Answer } from "../support/api-client.js";
import { until } from "../support/until.js";

let bench: ApiBench;

const handlers = {
  query: async (_payload: unknown, context: { readonly id: string }) => ({ job: context.id, rows: [] }),
};

afterEach(async () => {
  await bench.close();
});

const unavailable = (answer: Answer): void => {
  expect({ status: answer.status, code: answer.body.code }).toEqual({ status: 503, code: "queue_unavailable" });
  expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(0);
};

const works = (memory: string): Promise<Answer> =>
  until(async () => {
    const answer = await bench.client.query(memory, { query: "//Day" });
    return answer.status === 200 ? answer : undefined;
  });

test("without Redis at boot the API answers what needs none, 503 for the rest, and works once Redis is there", async () => {
  bench = await openApiBench({ handlers, redis: "down" });
  const memory = await bench.client.memory();
  unavailable(await bench.client.query(memory, { query: "//Day" }));
  unavailable(await bench.client.call("POST", `/v1/memories/${memory}/insert`, { body: { tree: { type: "Day" } } }));
  unavailable(await bench.client.call("GET", "/v1/jobs"));
  unavailable(await bench.client.call("PATCH", `/v1/memories/${memory}`, { body: { templates: { Day: "{name}" } } }));
  expect((await bench.client.call("GET", `/v1/memories/${memory}`)).body.templates).toEqual({});

  const ready = await bench.client.call("GET", "/health/ready", { key: null });
  expect(ready.status).toBe(503);
  expect(ready.body).toMatchObject({
    status: "unavailable",
    dependencies: { redis: { state: "down" }, store: { state: "up" } },
  });
  expect((await bench.client.call("GET", "/health/live", { key: null })).status).toBe(200);

  await bench.redis.start();
  await works(memory);
  const recovered = await bench.client.call("GET", "/health/ready", { key: null });
  expect(recovered.body).toMatchObject({ status: "ready", dependencies: { redis: { state: "up" } } });
});

test("Redis dying under the API answers 503 with Retry-After, and everything works by itself when it is back", async () => {
  bench = await openApiBench({ handlers });
  const memory = await bench.client.memory();
  expect((await bench.client.query(memory, { query: "//Day" })).status).toBe(200);
  await bench.redis.kill();
  unavailable(await bench.client.query(memory, { query: "//Day" }));
  await bench.redis.start();
  await works(memory);
});

test("a Redis that hangs does not hang the API", async () => {
  bench = await openApiBench({ handlers });
  const memory = await bench.client.memory();
  bench.redis.freeze();
  try {
    unavailable(await bench.client.query(memory, { query: "//Day" }));
  } finally {
    bench.redis.thaw();
  }
  await works(memory);
});
