import { AggregatorRegistry, collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from "prom-client";
import type { Clock } from "#core";

/** The registry of one process as data, as it travels to the process that serves `/metrics`. */
export type MetricsSnapshot = readonly SnapshotMetric[];

type SnapshotMetric = Awaited<ReturnType<Registry["getMetricsAsJSON"]>>[number];

/** Numbers of jobs of a queue by state; `dead` counts the dead letters. */
export type QueueCounts = Readonly<Record<string, number>>;

/** Backlog of every queue at the time of a scrape. */
export interface Backlog {
  readonly counts: Readonly<Record<string, QueueCounts>>;
  readonly oldestMs: Readonly<Record<string, number>>;
  /** Jobs that wait for their turn, ahead of the queues, and for how long the oldest has, by lane. */
  readonly admission: Readonly<Record<string, { readonly jobs: number; readonly oldestMs: number }>>;
  /** For how long the webhook that waits longest has had something to send. */
  readonly webhooksOverdueMs: number;
  /** Where trees and vectors lie apart: what is on its way from one to the other, and what differs. */
  readonly stores?: { readonly outboxRows: number; readonly drift: number };
}

/** States that `espalier_queue_jobs` shows: what is or will be work. `due`: delayed jobs whose time has come. */
const BACKLOG_STATES = ["waiting", "prioritized", "due", "delayed", "active"] as const;

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];
const CALL_SECONDS = [0.0001, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10];
const ITEMS = [1, 2, 4, 8, 16, 32, 64, 128, 256];
const TOKENS = [16, 64, 256, 512, 1_024, 2_048, 4_096, 8_192, 16_384];

/** Where the metrics of a process are told. Labels are bounded: never a tenant, a memory or a job. */
export interface Metrics {
  /** A run of a job ended. */
  jobRan(run: {
    readonly queue: string;
    readonly outcome: string;
    readonly waitMs: number;
    readonly runMs: number;
  }): void;
  /** A worker took a turn at its queue: it ended a job, or looked for one. */
  workerTurned(queue: string): void;
  /** A batch went to a model. */
  scoreBatch(batch: { readonly items: number; readonly tokens: number }): void;
  modelCall(call: { readonly model: string; readonly kind: string; readonly milliseconds: number }): void;
  /** A cache was asked for several items at once. */
  cacheLookup(lookup: { readonly cache: string; readonly hits: number; readonly misses: number }): void;
  storeCall(call: { readonly store: string; readonly op: string; readonly milliseconds: number }): void;
  /** A delivery to a webhook was tried, or given up. */
  webhookDelivery(outcome: string): void;
  /** A limit of a tenant refused a request or a job. */
  limitRefused(limit: string): void;
  /** Reads the backlog at each scrape; a read that fails leaves the gauges of the backlog out. */
  watchBacklog(read: () => Promise<Backlog>): void;
  /** Adds the metrics of another process at each scrape, until the returned function is called. */
  include(read: () => Promise<MetricsSnapshot>): () => void;
  /** Content type of `metrics()`. */
  readonly contentType: string;
  /** The metrics of this process and of the included ones, in the text format of Prometheus. */
  metrics(): Promise<string>;
  /** The metrics of this process. */
  snapshot(): Promise<MetricsSnapshot>;
}

/**
 * The metrics of one process in a registry of its own. Every series carries the label `process`, so that processes can be
 * shown together.
 * @param process what runs here: `api`, `worker`, …
 */
export function createMetrics(process: string, clock: Clock): Metrics {
  return new PromMetrics(process, clock);
}

class PromMetrics implements Metrics {
  readonly #registry = new Registry();
  readonly #clock: Clock;
  readonly #series: ReturnType<typeof registerSeries>;
  readonly #turns = new Map<string, number>();
  readonly #included = new Set<() => Promise<MetricsSnapshot>>();
  #readBacklog: (() => Promise<Backlog>) | undefined;

  constructor(process: string, clock: Clock) {
    this.#clock = clock;
    this.#registry.setDefaultLabels({ process });
    this.#series = registerSeries(this.#registry);
    collectDefaultMetrics({ register: this.#registry });
  }

  jobRan(run: Parameters<Metrics["jobRan"]>[0]): void {
    const { queue, outcome } = run;
    this.#series.jobs.inc({ queue, outcome });
    this.#series.wait.observe({ queue }, run.waitMs / 1_000);
    this.#series.run.observe({ queue }, run.runMs / 1_000);
    this.workerTurned(queue);
  }

  workerTurned(queue: string): void {
    this.#turns.set(queue, this.#clock.now());
  }

  scoreBatch(batch: Parameters<Metrics["scoreBatch"]>[0]): void {
    this.#series.batchItems.observe(batch.items);
    this.#series.batchTokens.observe(batch.tokens);
  }

  modelCall(call: Parameters<Metrics["modelCall"]>[0]): void {
    this.#series.model.observe({ model: call.model, kind: call.kind }, call.milliseconds / 1_000);
  }

  cacheLookup({ cache, hits, misses }: Parameters<Metrics["cacheLookup"]>[0]): void {
    if (hits > 0) this.#series.cacheHits.inc({ cache }, hits);
    if (misses > 0) this.#series.cacheMisses.inc({ cache }, misses);
  }

  storeCall(call: Parameters<Metrics["storeCall"]>[0]): void {
    this.#series.store.observe({ store: call.store, op: call.op }, call.milliseconds / 1_000);
  }

  webhookDelivery(outcome: string): void {
    this.#series.deliveries.inc({ outcome });
  }

  limitRefused(limit: string): void {
    this.#series.refusals.inc({ limit });
  }

  watchBacklog(read: () => Promise<Backlog>): void {
    this.#readBacklog = read;
  }

  include(read: () => Promise<MetricsSnapshot>): () => void {
    this.#included.add(read);
    return () => {
      this.#included.delete(read);
    };
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  async metrics(): Promise<string> {
    const others = await Promise.all([...this.#included].map((read) => read()));
    const all = [await this.snapshot(), ...others].map((snapshot) =>
      // Series of several processes differ by their label, so the sum of a series is the series.
      snapshot.map((metric) => ({ ...metric, aggregator: "sum" })),
    );
    return AggregatorRegistry.aggregate(all).metrics();
  }

  async snapshot(): Promise<MetricsSnapshot> {
    const now = this.#clock.now();
    for (const [queue, turn] of this.#turns) this.#series.activity.set({ queue }, Math.max(0, now - turn) / 1_000);
    if (this.#readBacklog !== undefined) await this.#showBacklog(this.#readBacklog);
    return this.#registry.getMetricsAsJSON();
  }

  async #showBacklog(read: () => Promise<Backlog>): Promise<void> {
    const { queueJobs, queueOldest, dead, admission, admissionOldest, overdue, outboxRows, drift } = this.#series;
    const gauges = [queueJobs, queueOldest, dead, admission, admissionOldest, overdue, outboxRows, drift];
    for (const gauge of gauges) gauge.reset();
    let backlog: Backlog;
    try {
      backlog = await read();
    } catch {
      return;
    }
    for (const [queue, counts] of Object.entries(backlog.counts)) {
      for (const state of BACKLOG_STATES) queueJobs.set({ queue, state }, counts[state] ?? 0);
      dead.set({ queue }, counts["dead"] ?? 0);
    }
    for (const [queue, oldestMs] of Object.entries(backlog.oldestMs)) queueOldest.set({ queue }, oldestMs / 1_000);
    for (const [lane, { jobs, oldestMs }] of Object.entries(backlog.admission)) {
      admission.set({ lane }, jobs);
      admissionOldest.set({ lane }, oldestMs / 1_000);
    }
    overdue.set(backlog.webhooksOverdueMs / 1_000);
    outboxRows.set(backlog.stores?.outboxRows ?? 0);
    drift.set(backlog.stores?.drift ?? 0);
  }
}

function registerSeries(registry: Registry) {
  const registers = [registry];
  const histogram = <L extends string>(name: string, help: string, labelNames: L[], buckets: number[]): Histogram<L> =>
    new Histogram({ name, help, labelNames, buckets, registers });
  const gauge = <L extends string>(name: string, help: string, labelNames: L[]): Gauge<L> =>
    new Gauge({ name, help, labelNames, registers });
  const counter = <L extends string>(name: string, help: string, labelNames: L[]): Counter<L> =>
    new Counter({ name, help, labelNames, registers });
  const queue: "queue"[] = ["queue"];
  return {
    jobs: counter("espalier_jobs_total", "Runs of jobs by how they ended.", ["queue", "outcome"]),
    wait: histogram("espalier_job_wait_seconds", "Seconds from a job's submit to the start of a run.", queue, SECONDS),
    run: histogram("espalier_job_run_seconds", "Seconds that a run of a job took.", queue, SECONDS),
    queueJobs: gauge("espalier_queue_jobs", "Jobs of a queue by state.", ["queue", "state"]),
    queueOldest: gauge("espalier_queue_oldest_seconds", "Seconds that the oldest waiting job has waited.", queue),
    outboxRows: gauge("espalier_outbox_rows", "Texts that wait for a score worker, up to 10,000 a tenant.", []),
    drift: gauge(
      "espalier_vector_drift",
      "Points of the vector store that differed from the trees when their memories were last compared.",
      [],
    ),
    admission: gauge("espalier_admission_backlog", "Jobs that wait for their turn, ahead of the queues.", ["lane"]),
    admissionOldest: gauge(
      "espalier_admission_oldest_seconds",
      "Seconds since the oldest job that waits for its turn was submitted.",
      ["lane"],
    ),
    dead: gauge("espalier_dead_letters", "Jobs that were given up and are kept.", queue),
    batchItems: histogram("espalier_score_batch_items", "Texts or pairs in a batch for a model.", [], ITEMS),
    batchTokens: histogram("espalier_score_batch_tokens", "Tokens in a batch for a model.", [], TOKENS),
    model: histogram("espalier_model_seconds", "Seconds of a call of a model.", ["model", "kind"], CALL_SECONDS),
    cacheHits: counter("espalier_cache_hits_total", "Items that a cache answered.", ["cache"]),
    cacheMisses: counter("espalier_cache_misses_total", "Items that a cache was asked for and did not have.", [
      "cache",
    ]),
    store: histogram("espalier_store_seconds", "Seconds of a call of a store.", ["store", "op"], CALL_SECONDS),
    deliveries: counter(
      "espalier_webhook_deliveries_total",
      "Tries of deliveries to webhooks by what they came to: delivered, retried (there will be another), dead.",
      ["outcome"],
    ),
    overdue: gauge(
      "espalier_webhook_overdue_seconds",
      "Seconds for which the webhook that waits longest has had something to send.",
      [],
    ),
    refusals: counter("espalier_limit_refusals_total", "Requests and jobs that a limit of their tenant refused.", [
      "limit",
    ]),
    activity: gauge(
      "espalier_worker_last_activity_seconds",
      "Seconds since the worker last ended a job of the queue, or looked for one.",
      queue,
    ),
  };
}
