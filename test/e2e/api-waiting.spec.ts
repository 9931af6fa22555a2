import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { createParser, type EventSourceMessage } from "eventsource-parser";
import { EspalierError } from "#core";
import type { JobHandler } from "#jobs";
import { jobShape } from "../../apps/api/src/wire/job.js";
import { openApiBench, type ApiBench } from "../support/api-bench.js";
import { until } from "../support/until.js";

/** Gates that hold a query's run until the test opens them, by the query's text. */
const gates = new Map<string, PromiseWithResolvers<undefined>>();
const started: string[] = [];

const query: JobHandler = async (payload, context) => {
  const { query: text } = payload as { readonly query: string };
  started.push(text);
  if (text === "//Broken")
    throw new EspalierError("unknown_type", "There is no Broken.", { details: { near: ["Day"] } });
  const gate = gates.get(text);
  if (gate !== undefined) {
    const aborted = new Promise<never>((_, reject) => {
      context.signal.addEventListener("abort", () => {
        reject(new EspalierError("cancelled", "stopped"));
      });
    });
    await Promise.race([gate.promise, aborted]);
  }
  return { job: context.id, query: text, rows: [] };
};

const insert: JobHandler = async (_payload, context) => {
  for (let done = 0; done <= 3; done += 1) context.progress(done, 3);
  return { revision: 1, inserted: 3, roots: [] };
};

let bench: ApiBench;
let memory: string;

beforeAll(async () => {
  bench = await openApiBench({ handlers: { query, insert } });
  memory = await bench.client.memory();
});

afterAll(async () => {
  await bench.close();
});

const hold = (text: string): PromiseWithResolvers<undefined> => {
  const gate = Promise.withResolvers<undefined>();
  gates.set(text, gate);
  return gate;
};

test("a query waits when nothing is said, and answers its result itself", async () => {
  const answer = await bench.client.query(memory, { query: "//Day" });
  expect(answer.status).toBe(200);
  expect(answer.body).toMatchObject({ query: "//Day", rows: [] });
  expect(answer.headers.get("preference-applied")).toBeNull();
  expect(answer.headers.get("content-type")).toBe("application/json; charset=utf-8");
});

test("an insert does not wait when nothing is said: 202, Location and the job", async () => {
  const answer = await bench.client.call("POST", `/v1/memories/${memory}/insert`, { body: { tree: { type: "Day" } } });
  expect(answer.status).toBe(202);
  expect(answer.headers.get("location")).toBe(`/v1/jobs/${answer.body.id}`);
  expect(answer.body).toMatchObject({ kind: "insert", memory, attempts: 0 });
});

test("a waiting insert answers 200 with its job and its result", async () => {
  const answer = await bench.client.insert(memory, { tree: { type: "Day" } });
  expect(answer.status).toBe(200);
  expect(answer.headers.get("preference-applied")).toBe("wait=60");
  expect(answer.body).toMatchObject({
    kind: "insert",
    state: "completed",
    result: { revision: 1, inserted: 3, roots: [] },
  });
  expect(Date.parse(answer.body.finishedAt)).toBeGreaterThanOrEqual(Date.parse(answer.body.createdAt));
});

test("wait=0 on a query answers 202 at once", async () => {
  const answer = await bench.client.query(memory, { query: "//Day" }, { headers: { prefer: "wait=0" } });
  expect(answer.status).toBe(202);
  expect(answer.headers.get("location")).toBe(`/v1/jobs/${answer.body.id}`);
  expect(answer.headers.get("preference-applied")).toBe("wait=0");
});

test("a wait that runs out falls back to 202, and the job goes on to its result", async () => {
  const gate = hold("//Slow");
  const answer = await bench.client.query(memory, { query: "//Slow" }, { headers: { prefer: "wait=1" } });
  expect(answer.status).toBe(202);
  expect(["queued", "active"]).toContain(answer.body.state);
  gate.resolve(undefined);
  const path = answer.headers.get("location") ?? "";
  const done = await until(async () => {
    const job = await bench.client.call("GET", path);
    return job.body.state === "completed" ? job : undefined;
  });
  expect(done.body.result).toMatchObject({ query: "//Slow" });
});

test("more than 120 s is clamped, and the answer says so", async () => {
  const answer = await bench.client.query(memory, { query: "//Day" }, { headers: { prefer: "wait=9999" } });
  expect(answer.status).toBe(200);
  expect(answer.headers.get("preference-applied")).toBe("wait=120");
});

test("a failed job answers the waiting request with the problem of its error, and GET of the job with 200", async () => {
  const answer = await bench.client.query(memory, { query: "//Broken" });
  expect(answer.status).toBe(422);
  expect(answer.headers.get("content-type")).toContain("application/problem+json");
  expect(answer.body).toMatchObject({ code: "unknown_type", detail: "There is no Broken.", near: ["Day"] });
  const job = await bench.client.call("GET", `/v1/jobs/${answer.body.job}`);
  expect(job.status).toBe(200);
  expect(job.body).toMatchObject({ state: "failed", error: { code: "unknown_type", status: 422 } });
});

test("cancelling a running job ends its wait with the problem `cancelled`, and cancelling again changes nothing", async () => {
  hold("//Held");
  const waiting = bench.client.query(memory, { query: "//Held" });
  await until(async () => (started.includes("//Held") ? true : undefined));
  const jobs = await bench.client.call("GET", `/v1/jobs?memory=${memory}&kind=query&limit=1`);
  const id = jobs.body.items[0]?.id ?? "";
  const cancelled = await bench.client.call("DELETE", `/v1/jobs/${id}`);
  expect(cancelled.status).toBe(200);
  expect(jobShape.safeParse(cancelled.body).error).toBeUndefined();
  const answer = await waiting;
  expect(answer.status).toBe(409);
  expect(answer.body).toMatchObject({ code: "cancelled", job: id });
  const again = await bench.client.call("DELETE", `/v1/jobs/${id}`);
  expect(again.status).toBe(200);
  expect(again.body.state).toBe("cancelled");
});

test("a job that has completed cannot be cancelled", async () => {
  const { body } = await bench.client.insert(memory, { tree: { type: "Day" } });
  const answer = await bench.client.call("DELETE", `/v1/jobs/${body.id}`);
  expect({ status: answer.status, code: answer.body.code }).toEqual({ status: 409, code: "job_finished" });
});

async function eventsOf(id: string, headers: Readonly<Record<string, string>> = {}): Promise<EventSourceMessage[]> {
  const answer = await bench.client.call("GET", `/v1/jobs/${id}/events`, { headers });
  expect(answer.status).toBe(200);
  expect(answer.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
  const messages: EventSourceMessage[] = [];
  createParser({ onEvent: (message) => messages.push(message) }).feed(answer.text);
  return messages;
}

test("the events of a job tell its states and progress in order, end with it, and can be resumed", async () => {
  const { body } = await bench.client.insert(memory, { tree: { type: "Day" } });
  const all = await eventsOf(body.id);
  const last = JSON.parse(all.at(-1)?.data ?? "{}");
  expect(all[0]?.event).toBe("state");
  expect(last).toMatchObject({ id: body.id, state: "completed", result: { inserted: 3 } });
  const rest = await eventsOf(body.id, { "last-event-id": all[0]?.id ?? "" });
  expect(rest.map(({ id }) => id)).toEqual(all.slice(1).map(({ id }) => id));
});

test("events of a job that runs arrive while it runs", async () => {
  const gate = hold("//Live");
  const { body } = await bench.client.query(memory, { query: "//Live" }, { headers: { prefer: "wait=0" } });
  const response = await bench.client.open("GET", `/v1/jobs/${body.id}/events`);
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  const states: string[] = [];
  const parser = createParser({
    onEvent: (message) => states.push((JSON.parse(message.data) as { state: string }).state),
  });
  const readUntil = async (state: string | undefined): Promise<void> => {
    while (state === undefined || !states.includes(state)) {
      const { done, value } = await reader.read();
      if (done) return;
      parser.feed(value);
    }
  };
  await readUntil("active");
  gate.resolve(undefined);
  await readUntil(undefined);
  expect(states[0]).toBe("queued");
  expect(states.at(-1)).toBe("completed");
});

test("a Last-Event-ID that is no event is refused", async () => {
  const { body } = await bench.client.insert(memory, { tree: { type: "Day" } });
  const answer = await bench.client.call("GET", `/v1/jobs/${body.id}/events`, { headers: { "last-event-id": "x" } });
  expect({ status: answer.status, code: answer.body.code }).toEqual({ status: 400, code: "invalid_request" });
});

test("an Idempotency-Key with the same body answers the same job, with another body 409", async () => {
  const headers = { "idempotency-key": "order-1" };
  const tree = { type: "Day", attributes: { name: "one" } };
  const first = await bench.client.insert(memory, { tree }, { headers });
  const second = await bench.client.insert(memory, { tree }, { headers });
  expect(second.body.id).toBe(first.body.id);
  const other = await bench.client.insert(memory, { tree: { type: "Night" } }, { headers });
  expect({ status: other.status, code: other.body.code }).toEqual({ status: 409, code: "idempotency_conflict" });
});

test("the same Idempotency-Key in another memory is another request, and in another tenant another key", async () => {
  const headers = { "idempotency-key": "order-2" };
  const tree = { type: "Day" };
  const first = await bench.client.insert(memory, { tree }, { headers });
  const elsewhere = await bench.client.insert(await bench.client.memory(), { tree }, { headers });
  expect(elsewhere.body.code).toBe("idempotency_conflict");
  const key = await bench.key({ tenant: "other" });
  const foreign = await bench.client.insert(await bench.client.memory({}, key), { tree }, { headers, key });
  expect(foreign.status).toBe(200);
  expect(foreign.body.id).not.toBe(first.body.id);
});

test("an Idempotency-Key that is none is refused", async () => {
  for (const key of ["a b", "x".repeat(256)]) {
    const answer = await bench.client.insert(
      memory,
      { tree: { type: "Day" } },
      { headers: { "idempotency-key": key } },
    );
    expect({ status: answer.status, code: answer.body.code }).toEqual({ status: 400, code: "invalid_request" });
  }
});
