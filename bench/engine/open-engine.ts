import { parseConfig, randomId, systemClock, type MemoryScope } from "#core";
import {
  embedRows,
  Inserter,
  liesApart,
  Reader,
  WriteQueue,
  type EmbeddingModels,
  type MemoryServices,
  type ScorerName,
} from "#memory";
import { openEmbeddingModels, openEntailer } from "#models";
import { Embedder, embeddingProcessCache, type EmbeddingModel } from "#scoring";
import type { Profile } from "../bench.js";
import type { Engine } from "./engine.js";
import { type OpenedStores, openFiles, openServers } from "./open-stores.js";

const TENANT = "default";
const SCORING = { scorer: "hybrid", a: 0.4, entailmentTemplate: "This is about {}." } as const;
/** What the wire fills in. */
const QUERY_DEFAULTS = { topK: 10, include: [], validate: true, trace: false, exact: false } as const;

export interface EngineOptions {
  /** Instead of the configured embedding model. */
  readonly model?: EmbeddingModel;
  /** Default: embedded. */
  readonly profile?: Profile;
}

/** Rows of one claim, and their tokens. */
const CLAIM = { rows: 64, tokens: 100_000, leaseMs: 60_000 } as const;

/** Opens an engine over empty stores of its own and the models that the environment configures. */
export async function openEngine(options: EngineOptions = {}): Promise<Engine> {
  const { stores, remove }: OpenedStores = await (options.profile === "distributed" ? openServers() : openFiles());
  const embeddingModels = options.model === undefined ? await configuredModels() : onlyModel(options.model);
  const entailer = await configuredEntailer();
  const services: MemoryServices = {
    ...{ tree: stores.tree, vectors: stores.vectors, lexical: stores.lexical, caches: stores.caches },
    ...{ embeddingModels, clock: systemClock, ...(stores.apart !== undefined && { apart: stores.apart }) },
    ...(entailer !== undefined && { entailer: async () => entailer }),
  };
  const inserter = new Inserter(services, new WriteQueue());
  const reader = new Reader(services);
  const made: MemoryScope[] = [];
  const scorers: readonly ScorerName[] = ["similarity", "lexical", "hybrid"];
  return {
    scorers: entailer === undefined ? scorers : [...scorers, "entailment"],
    createMemory: async (name, structure, templates = {}) => {
      const created = await stores.tree.createMemory(TENANT, {
        ...{ id: randomId("mem"), name, labels: {}, structure, templates, scoring: SCORING },
        ...{ embeddingModel: embeddingModels.default, createdAt: systemClock.now() },
      });
      const scope = { tenant: TENANT, memory: created.id };
      made.push(scope);
      return scope;
    },
    insert: async (scope, request) => {
      const context = { jobId: randomId("job"), time: systemClock.now(), author: "bench" };
      const result = await inserter.insert(scope, request, context);
      await embedAll(services);
      return result;
    },
    query: (scope, query) => reader.query(scope, { ...QUERY_DEFAULTS, ...query }),
    memory: (scope) => stores.tree.getMemory(scope),
    close: async () => {
      // What lies on servers stays there otherwise.
      for (const scope of made) await stores.tree.deleteMemory(scope);
      await stores.close();
      await remove();
    },
  };
}

/** Where vectors lie apart: makes those that wait to be made, as score workers would. */
async function embedAll(services: MemoryServices): Promise<void> {
  if (!liesApart(services)) return;
  for (;;) {
    const id = randomId("job");
    const rows = await services.apart.outbox.claim(TENANT, { id, ...CLAIM });
    if (rows.length === 0) return;
    const { failed, pressure } = await embedRows(services, id, { takenOver: 0 });
    if (pressure !== undefined) throw pressure;
    if (failed > 0) throw new Error(`${failed} texts were not embedded`);
  }
}

/** The configured embedding model itself, without caches and batching. */
export async function openModel(): Promise<EmbeddingModel> {
  const models = await configuredModels();
  return (await models.get(models.default)).model;
}

function configuredModels(): Promise<EmbeddingModels> {
  const { embedding, modelsFolder } = parseConfig(process.env);
  return openEmbeddingModels(embedding, { modelsFolder, now: () => performance.now() });
}

async function configuredEntailer() {
  const { entailment, modelsFolder } = parseConfig(process.env);
  return entailment && (await openEntailer(entailment, { modelsFolder, now: () => performance.now() }));
}

function onlyModel(model: EmbeddingModel): EmbeddingModels {
  const embedder = new Embedder(model, { processCache: embeddingProcessCache(), now: () => performance.now() });
  return { default: model.id, get: () => Promise.resolve(embedder) };
}
