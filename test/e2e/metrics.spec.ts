/** The metrics of a real API and a real worker: all that are promised are there, and a job moves those it should by what it should. */
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { openEmbeddingModels } from "#models";
import { startWorker, type RunningWorker } from "../../apps/worker/src/start-worker.js";
import { openApiBench, type ApiBench } from "../support/api-bench.js";
import { FakeModelServer } from "../support/fake-model-server.js";
import { until } from "../support/until.js";
import { answers, startReceiver, type WebhookReceiver } from "../support/webhook-receiver.js";

/** Series and value, without the label `process`. */
type Scrape = ReadonlyMap<string, number>;

/** The metrics of the jobs page that come from the API, and from workers. */
const OF_API = [
  ...["espalier_queue_jobs", "espalier_queue_oldest_seconds", "espalier_dead_letters"],
  ...[
    "espalier_admission_backlog",
    "espalier_admission_oldest_seconds",
    "espalier_vector_drift",
    "espalier_outbox_rows",
  ],
  ...["espalier_store_seconds", "espalier_webhook_overdue_seconds"],
];
const OF_WORKER = [
  ...["espalier_jobs_total", "espalier_job_wait_seconds", "espalier_job_run_seconds"],
  ...["espalier_score_batch_items", "espalier_score_batch_tokens", "espalier_model_seconds"],
  ...["espalier_cache_hits_total", "espalier_cache_misses_total", "espalier_store_seconds"],
  "espalier_worker_last_activity_seconds",
];
const LABELS = ["process", "queue", "outcome", "state", "lane", "model", "kind", "cache", "store", "op", "le", "limit"];
/** An insert of an artifact has a job embed its fields when it is done. */
const FIELDS_EMBEDDED = 'espalier_jobs_total{queue="score",outcome="completed"}';
const TREE = ["beach", "museum", "concert"].map((name) => ({ type: "Day", attributes: { name } }));

let model: FakeModelServer;
let receiver: WebhookReceiver;
let bench: ApiBench;
let worker: RunningWorker;
let memory: string;

beforeAll(async () => {
  model = await FakeModelServer.start();
  receiver = await startReceiver();
  bench = await openApiBench({
    environment: {
      ...{ EMBEDDING_PROVIDER: "openai", EMBEDDING_URL: `${model.url}/v1`, EMBEDDING_MODEL: "fake-model" },
      ...{ LOG_LEVEL: "silent", ESPALIER_METRICS_PORT: "0" },
      ...{ ESPALIER_WEBHOOK_NETWORKS: "127.0.0.1/32", ESPALIER_WEBHOOK_HTTP: "allowed" },
    },
    models: (config) =>
      openEmbeddingModels(config.embedding, { modelsFolder: config.modelsFolder, now: () => Date.now() }),
    startWorker: async (config, jobSettings) =>
      (worker = await startWorker(config, {
        jobSettings,
        roles: ["query", "insert", "score", "maintain"],
        serveMetrics: true,
      })),
  });
  memory = await bench.client.memory({ name: "moves" });
  // The first job of all loads the model, which is a call too.
  expect((await insert({ tree: TREE })).body).toMatchObject({ state: "completed" });
  await until(async () => ((await scrape(worker.metricsUrl)).has(FIELDS_EMBEDDED) ? true : undefined));
});

afterAll(async () => {
  await bench.close();
  await model.stop();
  receiver.close();
});

const insert = (body: unknown) =>
  bench.client.call("POST", `/v1/memories/${memory}/insert`, { body, headers: { prefer: "wait=20" } });
const query = (body: unknown) => bench.client.call("POST", `/v1/memories/${memory}/query`, { body });

async function text(url: string | undefined): Promise<string> {
  const answer = await fetch(url ?? "");
  expect(answer.status).toBe(200);
  return answer.text();
}

async function scrape(url: string | undefined): Promise<Scrape> {
  const lines = (await text(url)).matchAll(/^(espalier_\w+)(?:\{([^}]*)\})? (\S+)$/gm);
  const series = Array.from(lines, ([, name = "", labels = "", value]): [string, number] => [
    `${name}{${labels
      .split(",")
      .filter((label) => !label.startsWith("process="))
      .join(",")}}`,
    Number(value),
  ]);
  return new Map(series);
}

/** What a call changed at the worker: whole numbers only, as seconds are never the same twice. Waits until its run is told. */
async function movedBy(call: () => Promise<unknown>, told: string): Promise<Readonly<Record<string, number>>> {
  const before = await scrape(worker.metricsUrl);
  await call();
  const after = await until(async () => {
    const now = await scrape(worker.metricsUrl);
    return (now.get(told) ?? 0) > (before.get(told) ?? 0) ? now : undefined;
  });
  const moved = [...after].flatMap(([series, value]): [string, number][] => {
    if (/_bucket\{|_seconds_sum\{|_last_activity_/.test(series)) return [];
    const by = value - (before.get(series) ?? 0);
    return by === 0 ? [] : [[series, by]];
  });
  return Object.fromEntries(moved);
}

/** Those that are told of by the queue and the models; calls of the stores are many. */
const withoutStores = (moved: Readonly<Record<string, number>>): Readonly<Record<string, number>> =>
  Object.fromEntries(Object.entries(moved).filter(([series]) => !series.startsWith("espalier_store_seconds")));

test("every promised metric is on the real /metrics with its help text and type", async () => {
  for (const [url, names] of [
    [bench.api.metricsUrl, OF_API],
    [worker.metricsUrl, OF_WORKER],
  ] as const) {
    const page = await text(url);
    for (const name of names) {
      expect(page).toMatch(new RegExp(`^# HELP ${name} \\S.*\\.$`, "m"));
      expect(page).toMatch(new RegExp(`^# TYPE ${name} (counter|gauge|histogram)$`, "m"));
      expect(page).toMatch(new RegExp(`^${name}(_count)?\\{.*\\} [0-9.e+-]+$`, "m"));
    }
  }
});

test("an insert and the embedding of its fields move the runs by one each, the batches by the texts, and nothing else", async () => {
  const tree = ["market", "harbour", "station", "garden"].map((name) => ({ type: "Day", attributes: { name } }));
  const id = (await bench.client.call("GET", `/v1/memories/${memory}`)).body["embeddingModel"] as string;
  const moved = await movedBy(() => insert({ tree }), FIELDS_EMBEDDED);
  expect(withoutStores(moved)).toEqual({
    'espalier_jobs_total{queue="insert",outcome="completed"}': 1,
    'espalier_job_wait_seconds_count{queue="insert"}': 1,
    'espalier_job_run_seconds_count{queue="insert"}': 1,
    [FIELDS_EMBEDDED]: 1,
    'espalier_job_wait_seconds_count{queue="score"}': 1,
    'espalier_job_run_seconds_count{queue="score"}': 1,
    "espalier_score_batch_items_sum{}": tree.length,
    "espalier_score_batch_items_count{}": 1,
    "espalier_score_batch_tokens_sum{}": expect.any(Number),
    "espalier_score_batch_tokens_count{}": 1,
    [`espalier_model_seconds_count{model="${id}",kind="embedding"}`]: 1,
    'espalier_cache_misses_total{cache="embedding_process"}': tree.length,
    'espalier_cache_misses_total{cache="embedding_tenant"}': tree.length,
    // A node's only field has the text of the node.
    'espalier_cache_hits_total{cache="embedding_process"}': tree.length,
  });
  expect(moved['espalier_store_seconds_count{store="tree",op="commit"}']).toBe(1);
});

test("the same question again is a hit of the cache and no call of the model", async () => {
  const ask = () => query({ query: '//Day[node~="museum"]', scorer: "similarity" });
  await ask();
  const moved = await movedBy(ask, 'espalier_jobs_total{queue="query",outcome="completed"}');
  expect(withoutStores(moved)).toEqual({
    'espalier_jobs_total{queue="query",outcome="completed"}': 1,
    'espalier_job_wait_seconds_count{queue="query"}': 1,
    'espalier_job_run_seconds_count{queue="query"}': 1,
    'espalier_cache_hits_total{cache="embedding_process"}': 1,
  });
  expect(moved['espalier_store_seconds_count{store="tree",op="getMemory"}']).toBeGreaterThanOrEqual(1);
});

test("a request of the API moves its calls of the stores by one each", async () => {
  const series = 'espalier_store_seconds_count{store="tree",op="schema"}';
  const before = await scrape(bench.api.metricsUrl);
  await bench.client.call("GET", `/v1/memories/${memory}/schema`);
  const after = await scrape(bench.api.metricsUrl);
  expect((after.get(series) ?? 0) - (before.get(series) ?? 0)).toBe(1);
});

test("a job that fails for good moves its outcome, and is no dead letter", async () => {
  model.alwaysMisbehave({ kind: "status", status: 401 });
  const ask = () => query({ query: '//Day[node~="never asked before"]', scorer: "similarity" });
  const moved = await movedBy(ask, 'espalier_jobs_total{queue="query",outcome="failed"}');
  model.reset();
  expect(withoutStores(moved)).toMatchObject({
    'espalier_jobs_total{queue="query",outcome="failed"}': 1,
    'espalier_job_run_seconds_count{queue="query"}': 1,
  });
  expect(Object.keys(moved)).not.toContain('espalier_jobs_total{queue="query",outcome="completed"}');
  expect((await scrape(bench.api.metricsUrl)).get('espalier_dead_letters{queue="query"}')).toBe(0);
});

test("a webhook's tries move its deliveries by what they came to, and in the end nothing is overdue", async () => {
  const body = { url: receiver.url, events: ["completed"], kinds: ["query"] };
  const made = await bench.client.call("POST", "/v1/webhooks", { body });
  expect(made.status).toBe(201);
  const series = (outcome: string): string => `espalier_webhook_deliveries_total{outcome="${outcome}"}`;
  const ask = () => query({ query: "//Day", scorer: "lexical" });
  expect((await movedBy(ask, series("delivered")))[series("delivered")]).toBe(1);
  // 410: the receiver asks not to be called any more.
  receiver.behave(answers(410));
  expect(Object.keys(await movedBy(ask, series("dead")))).not.toContain(series("delivered"));
  const again = await bench.client.call("PATCH", `/v1/webhooks/${made.body.id}`, { body: { enabled: true } });
  expect(again.status).toBe(200);
  receiver.behave(answers(500));
  expect(Object.keys(await movedBy(ask, series("retried")))).not.toContain(series("delivered"));
  await bench.client.call("DELETE", `/v1/webhooks/${made.body.id}`);
  await until(async () =>
    (await scrape(bench.api.metricsUrl)).get("espalier_webhook_overdue_seconds{}") === 0 ? true : undefined,
  );
});

test("labels are of a known few, and no value names a tenant, a memory or a job", async () => {
  for (const url of [bench.api.metricsUrl, worker.metricsUrl]) {
    for (const [, labels = ""] of (await text(url)).matchAll(/^espalier_\w+\{([^}]*)\}/gm)) {
      for (const [, name, value] of labels.matchAll(/(\w+)="([^"]*)"/g)) {
        expect(LABELS).toContain(name);
        expect(value).not.toMatch(/(mem|job|ten|nod|key)_/);
      }
    }
  }
});
