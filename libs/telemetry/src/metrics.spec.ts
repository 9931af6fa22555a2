import { EventEmitter } from "node:events";
import { expect, test } from "@jest/globals";
import { answerMetrics, askMetrics, type MetricsChannel } from "./metrics-channel.js";
import { createMetrics } from "./metrics.js";

const clock = { now: () => 10_000 };

/** The two ends of a channel, as a parent and its child have them. */
function channel(): { readonly parent: MetricsChannel; readonly child: MetricsChannel } {
  const end = (mine: EventEmitter, other: EventEmitter): MetricsChannel => ({
    connected: true,
    send: (message) => other.emit("message", structuredClone(message)),
    on: (event, listener) => mine.on(event, listener),
    off: (event, listener) => mine.off(event, listener),
  });
  const [a, b] = [new EventEmitter(), new EventEmitter()];
  return { parent: end(a, b), child: end(b, a) };
}

test("a run of a job is counted by queue and outcome, with its seconds", async () => {
  const metrics = createMetrics("worker", clock);
  metrics.jobRan({ queue: "insert", outcome: "completed", waitMs: 20, runMs: 400 });
  const text = await metrics.metrics();
  expect(text).toContain('espalier_jobs_total{queue="insert",outcome="completed",process="worker"} 1');
  expect(text).toContain('espalier_job_wait_seconds_sum{queue="insert",process="worker"} 0.02');
  expect(text).toContain('espalier_job_run_seconds_bucket{le="0.5",queue="insert",process="worker"} 1');
});

test("the backlog is read at each scrape, and left out while its source is down", async () => {
  const metrics = createMetrics("api", clock);
  let up = true;
  metrics.watchBacklog(() =>
    up
      ? Promise.resolve({
          counts: { query: { waiting: 7, due: 1, dead: 2 } },
          oldestMs: { query: 1_500 },
          admission: { interactive: { jobs: 5, oldestMs: 40_000 }, batch: { jobs: 0, oldestMs: 0 } },
          webhooksOverdueMs: 2_500,
        })
      : Promise.reject(new Error("down")),
  );
  const text = await metrics.metrics();
  expect(text).toContain('espalier_queue_jobs{queue="query",state="waiting",process="api"} 7');
  expect(text).toContain('espalier_queue_oldest_seconds{queue="query",process="api"} 1.5');
  expect(text).toContain('espalier_dead_letters{queue="query",process="api"} 2');
  expect(text).toContain('espalier_queue_jobs{queue="query",state="due",process="api"} 1');
  expect(text).toContain('espalier_admission_backlog{lane="interactive",process="api"} 5');
  expect(text).toContain('espalier_admission_oldest_seconds{lane="interactive",process="api"} 40');
  expect(text).toContain('espalier_webhook_overdue_seconds{process="api"} 2.5');
  up = false;
  expect(await metrics.metrics()).not.toContain("espalier_queue_jobs{");
});

test("the metrics of a child come over its channel and stand beside the parent's", async () => {
  const { parent, child } = channel();
  const [api, worker] = [createMetrics("api", clock), createMetrics("worker", clock)];
  worker.cacheLookup({ cache: "embedding", hits: 3, misses: 2 });
  worker.scoreBatch({ items: 8, tokens: 300 });
  answerMetrics(child, () => worker.snapshot());
  const exclude = api.include(() => askMetrics(parent, 1_000));
  const text = await api.metrics();
  expect(text).toContain('espalier_cache_hits_total{cache="embedding",process="worker"} 3');
  expect(text).toContain('espalier_cache_misses_total{cache="embedding",process="worker"} 2');
  expect(text).toContain('espalier_score_batch_tokens_sum{process="worker"} 300');
  expect(text).toMatch(/process_resident_memory_bytes\{process="api"\} \d/);
  expect(text).toMatch(/process_resident_memory_bytes\{process="worker"\} \d/);
  exclude();
  expect(await api.metrics()).not.toContain('process="worker"');
});

test("a child that does not answer is left out of the scrape", async () => {
  const { parent } = channel();
  expect(await askMetrics(parent, 1)).toEqual([]);
});

test("the age of a worker's last turn grows with the clock", async () => {
  let now = 1_000;
  const metrics = createMetrics("worker", { now: () => now });
  metrics.workerTurned("query");
  now = 4_000;
  expect(await metrics.metrics()).toContain('espalier_worker_last_activity_seconds{queue="query",process="worker"} 3');
});

test("every series has a help text and a unit in its name where it has one", async () => {
  const names = (await createMetrics("api", clock).snapshot()).filter(({ name }) => name.startsWith("espalier_"));
  expect(names.length).toBeGreaterThan(10);
  for (const { name, help } of names) {
    expect({ name, ends: help.endsWith(".") }).toEqual({ name, ends: true });
    expect(name).toMatch(/_(total|seconds|jobs|letters|items|tokens|backlog|rows|drift)$/);
  }
});

test("what differs between stores that lie apart is one number, and none where they do not", async () => {
  const metrics = createMetrics("api", clock);
  const queues = { counts: {}, oldestMs: {}, admission: {}, webhooksOverdueMs: 0 };
  metrics.watchBacklog(async () => ({ ...queues, stores: { outboxRows: 12, drift: 3 } }));
  expect(await metrics.metrics()).toMatch(/espalier_outbox_rows\{process="api"\} 12\n/);
  expect(await metrics.metrics()).toMatch(/espalier_vector_drift\{process="api"\} 3\n/);
  metrics.watchBacklog(async () => queues);
  expect(await metrics.metrics()).toMatch(/espalier_vector_drift\{process="api"\} 0\n/);
});
