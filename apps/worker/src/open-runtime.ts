import { randomId, systemClock, type Config } from "#core";
import { createJobClient, type JobSettings, type PayloadStore } from "#jobs";
import { Inserter, Reader, WriteQueue, type MemoryServices } from "#memory";
import { openEmbeddingModels, entailerOnDemand, type ModelHooks } from "#models";
import { openStores } from "#stores";
import type { Metrics } from "#telemetry";
import { timeCalls } from "./time-calls.js";
import type { WorkerRuntime } from "./worker-runtime.js";

/** A worker's stores and models, open. */
export interface OpenRuntime extends AsyncDisposable {
  readonly runtime: WorkerRuntime;
  readonly payloadStore: PayloadStore;
  /** Loads the model of new memories, so that the first job does not wait for it. */
  warmUp(): Promise<void>;
  /** Removes payloads and results that have expired. */
  sweep(): Promise<number>;
}

/** The configuration of a process that works on jobs. */
export type WorkerConfig = Config & { readonly redisUrl: string };

/**
 * Opens what the processors work with, and tells the metrics of its calls.
 * @throws EspalierError the stores' and the models'; nothing is left open then
 */
export async function openRuntime(
  config: WorkerConfig,
  metrics: Metrics,
  settings: Partial<JobSettings> = {},
): Promise<OpenRuntime> {
  await using opened = new AsyncDisposableStack();
  const stores = openStores({ folder: config.dataFolder, clock: systemClock });
  opened.defer(() => stores.close());
  const models = { modelsFolder: config.modelsFolder, now: () => performance.now(), ...hooksOf(metrics) };
  const timed = <T extends object>(store: string, target: T): T =>
    timeCalls(target, ({ op, milliseconds }) => {
      metrics.storeCall({ store, op, milliseconds });
    });
  const services: MemoryServices = {
    tree: timed("tree", stores.tree),
    vectors: timed("vectors", stores.vectors),
    lexical: timed("lexical", stores.lexical),
    caches: stores.caches,
    embeddingModels: await openEmbeddingModels(config.embedding, models),
    ...(config.entailment !== undefined && { entailer: entailerOnDemand(config.entailment, models) }),
    clock: systemClock,
  };
  const jobs = createJobClient({
    ...{ redis: config.redisUrl, payloadStore: stores.blobs, clock: systemClock, ids: randomId },
    settings,
  });
  opened.defer(() => jobs.close());
  const writers = new WriteQueue();
  const reader = new Reader(services);
  const closing = opened.move();
  return {
    runtime: {
      ...{ services, writers, batches: new WriteQueue(), inserter: new Inserter(services, writers) },
      query: (scope, request, context) => reader.query(scope, request, context),
      ...{ jobs, clock: systemClock },
    },
    payloadStore: stores.blobs,
    warmUp: async () => {
      await services.embeddingModels.get(services.embeddingModels.default);
    },
    sweep: () => stores.blobs.sweep(systemClock.now()),
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}

function hooksOf(metrics: Metrics): ModelHooks {
  return {
    onBatch: ({ items, tokens, milliseconds, model, kind }) => {
      metrics.scoreBatch({ items, tokens });
      metrics.modelCall({ model, kind, milliseconds });
    },
    onLookup: (cache, hits) => {
      metrics.cacheHits(cache, hits);
    },
  };
}
