import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseConfig, randomId, systemClock } from "#core";
import { Inserter, Reader, WriteQueue, type EmbeddingModels, type MemoryServices, type ScorerName } from "#memory";
import { openEmbeddingModels, openEntailer } from "#models";
import { Embedder, embeddingProcessCache, type EmbeddingModel } from "#scoring";
import { openStores } from "#stores";
import type { Engine } from "./engine.js";

const TENANT = "default";
const SCORING = { scorer: "hybrid", a: 0.4, entailmentTemplate: "This is about {}." } as const;
/** What the wire fills in. */
const QUERY_DEFAULTS = { topK: 10, include: [], validate: true, trace: false, exact: false } as const;

export interface EngineOptions {
  /** Instead of the configured embedding model. */
  readonly model?: EmbeddingModel;
}

/** Opens an engine over SQLite stores in a new temporary folder and the models that the environment configures. */
export async function openEngine(options: EngineOptions = {}): Promise<Engine> {
  const folder = await mkdtemp(join(tmpdir(), "espalier-engine-"));
  const stores = openStores({ folder });
  const embeddingModels = options.model === undefined ? await configuredModels() : onlyModel(options.model);
  const entailer = await configuredEntailer();
  const services: MemoryServices = {
    ...{ tree: stores.tree, vectors: stores.vectors, lexical: stores.lexical, caches: stores.caches },
    ...{ embeddingModels, clock: systemClock },
    ...(entailer !== undefined && { entailer: async () => entailer }),
  };
  const inserter = new Inserter(services, new WriteQueue());
  const reader = new Reader(services);
  const scorers: readonly ScorerName[] = ["similarity", "lexical", "hybrid"];
  return {
    scorers: entailer === undefined ? scorers : [...scorers, "entailment"],
    createMemory: async (name, structure, templates = {}) => {
      const created = await stores.tree.createMemory(TENANT, {
        ...{ id: randomId("mem"), name, labels: {}, structure, templates, scoring: SCORING },
        ...{ embeddingModel: embeddingModels.default, createdAt: systemClock.now() },
      });
      return { tenant: TENANT, memory: created.id };
    },
    insert: (scope, request) =>
      inserter.insert(scope, request, { jobId: randomId("job"), time: systemClock.now(), author: "bench" }),
    query: (scope, query) => reader.query(scope, { ...QUERY_DEFAULTS, ...query }),
    memory: (scope) => stores.tree.getMemory(scope),
    close: async () => {
      await stores.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
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
