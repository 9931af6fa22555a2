import { expect, test } from "@jest/globals";
import { EspalierError } from "#core";
import {
  checkHandlers,
  held,
  JOB_KINDS,
  JOB_NAMES,
  queuesOf,
  type JobContext,
  type JobKind,
  type SubmitRequest,
} from "#jobs";
import { createWorkerApplication } from "../worker.module.js";
import type { WorkerRuntime } from "../worker-runtime.js";
import { InsertProcessor } from "./insert.processor.js";
import { MaintainProcessor } from "./maintain.processor.js";
import type { Processor } from "./processor.js";
import { QueryProcessor } from "./query.processor.js";
import { RowsProcessor } from "./rows.processor.js";
import { ScoreProcessor } from "./score.processor.js";

const context: JobContext = {
  ...{ id: "job_1", tenant: "ten_a", memory: "mem_1", attempt: 1, createdAt: 1_000 },
  ...{ effectId: "job_1", takenOver: 0 },
  signal: new AbortController().signal,
  progress: () => undefined,
  stored: () => undefined,
};

/** A runtime with the parts that a test names; any other is a mistake of the test. */
const runtimeOf = (parts: object): WorkerRuntime => parts as WorkerRuntime;

const handle = (processor: Processor, name: string, payload: unknown): Promise<unknown> =>
  processor.handlers.find((handler) => handler.name === name)!.handle(payload, context);

const codeOf = async (run: Promise<unknown>): Promise<string> =>
  run.then(
    () => "none",
    (error: unknown) => (error as EspalierError).code,
  );

async function processorsOf(roles: readonly JobKind[]): Promise<readonly Processor[]> {
  const { application, processors } = await createWorkerApplication(runtimeOf({}), roles);
  await application.close();
  return processors;
}

test("the processors of all roles have exactly one handler for each job name", async () => {
  const handlers = (await processorsOf(JOB_KINDS)).flatMap((processor) => processor.handlers);
  expect([...checkHandlers(JOB_KINDS, handlers).keys()].sort()).toEqual(Object.values(JOB_NAMES).flat().sort());
});

test.each(JOB_KINDS)("a worker with the role %s alone has the handlers of its queues and no others", async (kind) => {
  const handlers = (await processorsOf([kind])).flatMap((processor) => processor.handlers);
  expect(handlers.map(({ name }) => name)).toEqual(queuesOf([kind]).flatMap((queue) => JOB_NAMES[queue]));
});

test("a query's result names its job and how long it waited and ran", async () => {
  const asked: unknown[] = [];
  const processor = new QueryProcessor(
    runtimeOf({
      clock: { now: () => 1_012 },
      query: async (...all: unknown[]) => {
        asked.push(all);
        return { query: "//Day", rows: [] };
      },
    }),
  );
  const result = await handle(processor, "query", { query: "//Day", topK: 3 });
  expect(result).toEqual({
    ...{ job: "job_1", query: "//Day", rows: [] },
    timings: { queuedMs: 12, runMs: expect.any(Number) },
  });
  expect(asked).toMatchObject([
    [{ tenant: "ten_a", memory: "mem_1" }, { query: "//Day", topK: 3, validate: true }, {}],
  ]);
});

test("a payload that does not fit its schema fails for good, with every problem", async () => {
  const error: unknown = await handle(new QueryProcessor(runtimeOf({ clock: { now: () => 0 } })), "query", {
    ...{ query: "//Day", topK: -1, nonsense: true },
  }).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: "invalid_request", kind: { retryable: false } });
  expect((error as EspalierError).details["errors"]).toHaveLength(2);
});

/** An insert processor over a memory of that structure, and what it did. */
function inserting(structure: "artifact" | "conversation", inserted = 2, complete = true) {
  const submitted: SubmitRequest[] = [];
  const inserts: unknown[] = [];
  const told: string[] = [];
  const outbox = { retry: async () => told.push("retry") };
  const processor = new InsertProcessor(
    runtimeOf({
      inserter: {
        insert: async (...all: unknown[]) => {
          inserts.push(all);
          return { revision: 7, inserted, roots: [] };
        },
        isComplete: async () => complete,
      },
      services: { tree: { getMemory: async () => ({ structure }) } },
      jobs: { submit: async (request: SubmitRequest) => submitted.push(request) },
      apart: { services: { apart: { outbox } }, rowsChanged: () => told.push("rows") },
    }),
  );
  return { processor, submitted, inserts, told };
}

test("an insert whose vectors are on their way is held, and wakes the relay", async () => {
  const { processor, told } = inserting("conversation", 2, false);
  const result = await handle(processor, "insert", { messages: [{ speaker: "Ann", text: "Hi" }] });
  expect(result).toEqual(held({ revision: 7, inserted: 2, roots: [] }));
  expect(told).toEqual(["rows"]);
});

test("a replay of an insert tries the texts again that were given up", async () => {
  const { processor, told, inserts } = inserting("conversation", 2, false);
  const replay = { ...context, id: "job_2" };
  const [insert] = processor.handlers;
  await insert!.handle({ messages: [{ speaker: "Ann", text: "Hi" }] }, replay);
  expect(told).toEqual(["retry", "rows"]);
  expect(inserts).toMatchObject([[{}, {}, { jobId: "job_1" }]]);
});

test("where one transaction writes trees and vectors there is nothing to reconcile, and there are no rows", async () => {
  const maintain = new MaintainProcessor(runtimeOf({}));
  const found = await handle(maintain, "reconcile", { task: "reconcile" });
  expect(found).toEqual({ missing: 0, foreign: 0, stale: 0, repaired: 0, failed: 0 });
  const rows = new RowsProcessor(runtimeOf({}));
  expect(await codeOf(handle(rows, "embed-rows", { task: "embed-rows", claim: "c" }))).toBe("unknown_job_kind");
});

test("an insert into an artifact memory is followed by a batch job for its fields", async () => {
  const { processor, submitted, inserts } = inserting("artifact");
  expect(await handle(processor, "insert", { tree: { type: "Day" } })).toMatchObject({ revision: 7 });
  expect(submitted).toEqual([
    { kind: "score", tenant: "ten_a", memory: "mem_1", payload: { task: "embed-fields", revision: 7 } },
  ]);
  // Every attempt of a job writes the same time.
  expect(inserts).toMatchObject([[{ memory: "mem_1" }, { tree: { type: "Day" } }, { jobId: "job_1", time: 1_000 }]]);
});

test("an insert into a conversation, or of nothing, is followed by no job", async () => {
  const conversation = inserting("conversation");
  await handle(conversation.processor, "insert", { messages: [{ speaker: "Ann", text: "Hi" }] });
  expect(conversation.submitted).toEqual([]);
  const nothing = inserting("artifact", 0);
  await handle(nothing.processor, "insert", { tree: [] });
  expect(nothing.submitted).toEqual([]);
});

test("an insert whose follow-up cannot be queued is tried again", async () => {
  const { processor } = inserting("artifact");
  const runtime = (processor as unknown as { runtime: { jobs: object } }).runtime;
  Object.assign(runtime.jobs, {
    submit: async () => {
      throw new EspalierError("queue_unavailable", "There is no connection to Redis.");
    },
  });
  expect(await codeOf(handle(processor, "insert", { tree: [] }))).toBe("queue_unavailable");
});

/** A score processor over a memory without fields, whose head moves with `head`, and how often its schema was read. */
function scoring() {
  const memory = { head: 7, runs: 0, fails: false };
  const tree = {
    getMemory: async () => ({ revision: memory.head, structure: "artifact", scoring: {}, templates: {} }),
    schema: async () => {
      memory.runs++;
      if (memory.fails) throw new EspalierError("store_unavailable", "The store is away.");
      return { types: [], relations: [] };
    },
  };
  const batches = { run: async (_scope: unknown, _signal: unknown, work: () => Promise<unknown>) => work() };
  const processor = new ScoreProcessor(runtimeOf({ services: { tree }, batches }));
  const run = (revision: number) => handle(processor, "embed-fields", { task: "embed-fields", revision });
  return { memory, run };
}

test("one batch run does the work of all inserts before it, and a later insert has its own", async () => {
  const { memory, run } = scoring();
  for (const revision of [5, 6, 7]) await run(revision);
  expect(memory.runs).toBe(1);
  memory.head = 8;
  await run(8);
  expect(memory.runs).toBe(2);
});

test("a batch run that failed covers no insert", async () => {
  const { memory, run } = scoring();
  memory.fails = true;
  expect(await codeOf(run(7))).toBe("store_unavailable");
  memory.fails = false;
  await run(7);
  expect(memory.runs).toBe(2);
});
