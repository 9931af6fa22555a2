import { LIMITS, randomId, systemClock, type Config } from "#core";
import {
  createBackground,
  createDeliveries,
  createJobClient,
  createTenantEraser,
  createSecretBox,
  createTokenMeter,
  createWebhookPoster,
  JOB_SETTINGS,
  Targets,
  type Deliveries,
  type JobSettings,
  type PayloadStore,
} from "#jobs";
import {
  createTenantLimits,
  finishDeletions,
  Inserter,
  liesApart,
  Reader,
  WriteQueue,
  type MemoryServices,
} from "#memory";
import { checkEntailer, openEmbeddingModels, entailerOnDemand, type ModelHooks } from "#models";
import { openStoresOf, type Stores } from "#stores";
import { timeCalls, type Metrics } from "#telemetry";
import type { ApartRuntime } from "./apart/apart-runtime.js";
import { Pressure } from "./apart/pressure.js";
import { meterCaches } from "./meter-caches.js";
import { sendAttempt } from "./send-attempt.js";
import type { WorkerRuntime } from "./worker-runtime.js";

/** A worker's stores and models, open. */
export interface OpenRuntime extends AsyncDisposable {
  readonly runtime: WorkerRuntime;
  readonly payloadStore: PayloadStore;
  /** Loads the model of new memories, so that the first job does not wait for it. */
  warmUp(): Promise<void>;
  /** Removes payloads and results that have expired. */
  sweep(): Promise<number>;
  /** Finishes deletions of tenants that were cut short; answers how many tenants are gone by it. */
  finishDeletions(options: { readonly idleMs: number; readonly withinMs: number }): Promise<number>;
}

/** The configuration of a process that works on jobs. */
export type WorkerConfig = Config & { readonly redisUrl: string };

export interface RuntimeOptions {
  readonly metrics: Metrics;
  readonly jobSettings?: Partial<JobSettings> | undefined;
  /** Opens the stores; absent: those that the configuration names. */
  readonly openStores?: (() => Stores) | undefined;
}

/**
 * Opens what the processors work with, and tells the metrics of its calls.
 * @throws EspalierError the stores' and the models'; nothing is left open then
 */
export async function openRuntime(config: WorkerConfig, options: RuntimeOptions): Promise<OpenRuntime> {
  const { metrics, jobSettings = {} } = options;
  if (config.entailment !== undefined) await checkEntailer(config.entailment, config);
  await using opened = new AsyncDisposableStack();
  const stores = options.openStores?.() ?? openStoresOf(config, systemClock);
  opened.defer(() => stores.close());
  const models = { modelsFolder: config.modelsFolder, now: () => performance.now(), ...hooksOf(metrics) };
  const embeddingModels = await openEmbeddingModels(config.embedding, models);
  opened.defer(() => embeddingModels.close());
  const entailer = config.entailment && entailerOnDemand(config.entailment, models);
  opened.defer(() => entailer?.close());
  const timed = <T extends object>(store: string, target: T): T =>
    timeCalls(target, ({ op, milliseconds }) => {
      metrics.storeCall({ store, op, milliseconds });
    });
  const meter = createTokenMeter({ redis: config.redisUrl, settings: jobSettings });
  opened.defer(() => meter.close());
  const limits = createTenantLimits(stores.tenants, config.tenantLimits, () => performance.now());
  const services: MemoryServices = {
    tree: timed("tree", stores.tree),
    vectors: timed("vectors", stores.vectors),
    lexical: timed("lexical", stores.lexical),
    caches: meterCaches(stores.caches, (tenant, tokens) => {
      meter.spent(tenant, tokens);
    }),
    limits,
    embeddingModels,
    ...(entailer !== undefined && { entailer: () => entailer.get() }),
    ...(stores.apart !== undefined && {
      apart: { outbox: timed("outbox", stores.apart.outbox), points: timed("points", stores.apart.points) },
    }),
    clock: systemClock,
  };
  const shared = { redis: config.redisUrl, payloadStore: stores.blobs, clock: systemClock, settings: jobSettings };
  const jobs = createJobClient({ ...shared, ids: randomId, limits: (tenant) => limits.of(tenant) });
  opened.defer(() => jobs.close());
  const eraser = createTenantEraser({ ...shared, jobs });
  opened.defer(() => eraser.close());
  const apart = openApart(services, shared, opened);
  const deliveries = openDeliveries(config, { jobSettings, metrics }, opened);
  const writers = new WriteQueue();
  const reader = new Reader(services, {
    // Others will have lost points too: all are compared now. The loop that does it also comes by itself.
    onLostPoints: () => {
      apart?.background.sweeps.ask().catch(() => undefined);
    },
  });
  const closing = opened.move();
  return {
    runtime: {
      ...{ services, writers, batches: new WriteQueue(), inserter: new Inserter(services, writers) },
      query: (scope, request, context) => reader.query(scope, request, context),
      ...{ jobs, deliveries, clock: systemClock },
      ...(apart !== undefined && { apart }),
    },
    payloadStore: stores.blobs,
    warmUp: async () => {
      await services.embeddingModels.get(services.embeddingModels.default);
    },
    sweep: () => stores.blobs.sweep(systemClock.now() - LIMITS.clockSkewMs),
    finishDeletions: (options) => finishDeletions({ ...stores, queues: eraser, now: () => systemClock.now() }, options),
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}

/** What keeps trees and vectors together where they lie apart. */
function openApart(
  services: MemoryServices,
  shared: Parameters<typeof createBackground>[0],
  opened: AsyncDisposableStack,
): ApartRuntime | undefined {
  if (!liesApart(services)) return undefined;
  const background = createBackground(shared);
  opened.defer(() => background.close());
  return { services, background, pressure: new Pressure(Math.random), rowsChanged: () => undefined };
}

/** What goes to webhooks. */
function openDeliveries(
  { webhooks, redisUrl }: WorkerConfig,
  { jobSettings: settings, metrics }: { readonly jobSettings: Partial<JobSettings>; readonly metrics: Metrics },
  opened: AsyncDisposableStack,
): Deliveries {
  const { requestMs } = settings.webhooks ?? JOB_SETTINGS.webhooks;
  const poster = createWebhookPoster(new Targets(webhooks), requestMs);
  opened.defer(() => {
    poster.close();
  });
  const send = sendAttempt({ poster, box: createSecretBox(webhooks.secretsKey), clock: systemClock });
  const deliveries = createDeliveries({
    ...{ redis: redisUrl, clock: systemClock, settings, send },
    onOutcome: (outcome) => {
      metrics.webhookDelivery(outcome);
    },
  });
  opened.defer(() => deliveries.close());
  return deliveries;
}

function hooksOf(metrics: Metrics): ModelHooks {
  return {
    onBatch: ({ items, tokens, milliseconds, model, kind }) => {
      metrics.scoreBatch({ items, tokens });
      metrics.modelCall({ model, kind, milliseconds });
    },
    onLookup: (cache, hits, misses) => {
      metrics.cacheLookup({ cache, hits, misses });
    },
  };
}
