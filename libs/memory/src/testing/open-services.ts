import { EspalierError, type IdSource, idFromUuid, type MemoryScope } from "#core";
import { Embedder, embeddingProcessCache, Entailer, entailmentProcessCache, type EntailmentModel } from "#scoring";
import { inMemoryStores, type Stores } from "#stores";
import type { Memory } from "../memory.js";
import type { MemoryServices } from "../services.js";
import { aMemory } from "./a-memory.js";
import { BagOfWordsModel } from "./bag-of-words-model.js";

/** Stores and test models behind the services of a process. */
export interface TestServices {
  readonly services: MemoryServices;
  readonly model: BagOfWordsModel;
  /** A second model, to which memories can be moved. */
  readonly otherModel: BagOfWordsModel;
  readonly createMemory: (settings?: Partial<Memory>) => Promise<MemoryScope>;
}

/** Fresh, empty services. `wrap` may stand between the code and the stores. */
export function openServices(
  options: {
    /** Absent: the in-memory ones. */
    readonly stores?: Stores;
    readonly wrap?: (services: MemoryServices) => MemoryServices;
    readonly entailment?: EntailmentModel;
  } = {},
): TestServices {
  const stores = options.stores ?? inMemoryStores();
  const model = new BagOfWordsModel();
  const otherModel = new BagOfWordsModel("other-words");
  let time = 1_000;
  const now = (): number => (time += 1);
  const front = { processCache: embeddingProcessCache(), now };
  const embedders = new Map([model, otherModel].map((each) => [each.id, new Embedder(each, front)]));
  const services: MemoryServices = {
    tree: stores.tree,
    vectors: stores.vectors,
    lexical: stores.lexical,
    caches: stores.caches,
    ...(stores.apart !== undefined && { apart: stores.apart }),
    embeddingModels: {
      default: model.id,
      get: async (id) => {
        const embedder = embedders.get(id);
        if (embedder === undefined) throw new EspalierError("model_unknown", `No model ${id}.`);
        return embedder;
      },
    },
    ...(options.entailment !== undefined && entailerOf(options.entailment, now)),
    clock: { now },
  };
  const nextId = counter();
  return {
    services: options.wrap?.(services) ?? services,
    model,
    otherModel,
    createMemory: async (settings = {}) => {
      const memory = { ...aMemory(settings), id: nextId("mem") };
      await stores.tree.createMemory("default", memory);
      return { tenant: "default", memory: memory.id };
    },
  };
}

function counter(): IdSource {
  let number = 0;
  return (kind) => idFromUuid(kind, `00000000-0000-7000-8000-${String((number += 1)).padStart(12, "0")}`);
}

function entailerOf(model: EntailmentModel, now: () => number): Pick<MemoryServices, "entailer"> {
  const entailer = new Entailer(model, { processCache: entailmentProcessCache(), now });
  return { entailer: async () => entailer };
}
