import { EspalierError, LIMITS } from "#core";
import { LRUCache } from "lru-cache";
import { LOCAL_BATCHING } from "../batching/local-batching.js";
import type { BatchReport } from "../batching/micro-batcher.js";
import { checkEmbeddings } from "../check-embeddings.js";
import type { Embedding, EmbeddingCache, EmbeddingModel } from "../ports.js";
import {
  CachedBatches,
  type AskEachOptions,
  type AskOptions,
  type AskReport,
  type OnLookup,
} from "./cached-batches.js";
import { textHash } from "./hashes.js";
import { present } from "../present.js";

/** Vectors by text hash, shared by all tenants of a process and bounded by bytes. */
export type EmbeddingProcessCache = LRUCache<string, Embedding>;

/** Bytes of an entry besides its vector: the key, the object, the cache's own lists. */
const ENTRY_BYTES = 256;

/** An empty process cache of at most `bytes` of vectors. */
export function embeddingProcessCache(bytes: number = LIMITS.processCacheBytes): EmbeddingProcessCache {
  return new LRUCache({ maxSize: bytes, sizeCalculation: ({ vector }) => vector.byteLength + ENTRY_BYTES });
}

/** What a model's front needs besides the model. */
export interface ModelFrontOptions<ProcessCache> {
  /** May be shared by several models: keys contain the model's id. */
  readonly processCache: ProcessCache;
  /** Milliseconds, for reports. */
  readonly now: () => number;
  readonly onBatch?: (report: BatchReport) => void;
  readonly onLookup?: OnLookup;
}

export interface EmbedOptions extends AskOptions {
  /** The tenant's persistent cache. */
  readonly cache?: EmbeddingCache | undefined;
}

export type EmbedEachOptions = EmbedOptions & AskEachOptions;

/** An embedding model behind its caches and its micro-batcher: one per model and process, shared by all jobs. */
export class Embedder {
  readonly model: EmbeddingModel;
  readonly #batches: CachedBatches<string, Embedding>;

  constructor(model: EmbeddingModel, options: ModelFrontOptions<EmbeddingProcessCache>) {
    this.model = model;
    this.#batches = new CachedBatches<string, Embedding>({
      ...options,
      run: async (texts, signal) =>
        checkEmbeddings(await model.embed(texts, signal), {
          model: model.id,
          dimension: model.dimension,
          count: texts.length,
        }),
      countTokens: (text) => Math.min(model.countTokens(text), model.maxTokens),
      batching: model.batching ?? LOCAL_BATCHING,
    });
  }

  /**
   * The vectors of texts (none of them empty), in order. Errors: the model's, `model_bad_output`, `model_dimension`,
   * `cancelled`. On an error what was computed before it is in the caches already.
   */
  async embed(
    texts: readonly string[],
    options: EmbedOptions = {},
  ): Promise<AskReport & { readonly embeddings: readonly Embedding[] }> {
    const { hashes, items } = this.#keyed(texts);
    const { values, ...report } = await this.#batches.ask(items, options.cache, options);
    return { embeddings: hashes.map((hash) => present(values.get(hash))), ...report };
  }

  /**
   * For each of the texts (none of them empty), in order, its vector, or the error with which it failed by itself: refused
   * (`isRefusedText`) or `model_out_of_memory`. One that was refused a while ago is not asked about again, unless the options
   * say so. Errors that are no text's fault are thrown as by `embed`.
   */
  async embedEach(
    texts: readonly string[],
    options: EmbedEachOptions = {},
  ): Promise<AskReport & { readonly outcomes: readonly (Embedding | EspalierError)[] }> {
    const { hashes, items } = this.#keyed(texts);
    const { outcomes, ...report } = await this.#batches.askEach(items, options.cache, options);
    return { outcomes: hashes.map((hash) => present(outcomes.get(hash))), ...report };
  }

  #keyed(texts: readonly string[]): {
    readonly hashes: readonly string[];
    readonly items: ReadonlyMap<string, string>;
  } {
    if (texts.includes("")) throw new EspalierError("internal", "An empty text was given to the embedding model.");
    const hashes = texts.map((text) => textHash(this.model.id, text));
    return { hashes, items: new Map(hashes.map((hash, index) => [hash, present(texts[index])])) };
  }
}
