import { EspalierError, LIMITS } from "#core";
import { LRUCache } from "lru-cache";
import { LOCAL_BATCHING } from "../batching/local-batching.js";
import type { EntailmentCache, EntailmentModel, EntailmentProbabilities } from "../ports.js";
import { CachedBatches, type AskOptions, type AskReport } from "./cached-batches.js";
import type { ModelFrontOptions } from "./embedder.js";
import { entailmentHash } from "./hashes.js";
import { present } from "../present.js";

/** Entailment values by hash, shared by all tenants of a process. */
export type EntailmentProcessCache = LRUCache<string, number>;

/** An empty process cache of at most `values` entailment values. */
export function entailmentProcessCache(values: number = LIMITS.processCacheValues): EntailmentProcessCache {
  return new LRUCache({ max: values });
}

export interface EntailOptions extends AskOptions {
  /** Hypothesis template with one `{}` for the condition. */
  readonly template: string;
  /** The tenant's persistent cache. */
  readonly cache?: EntailmentCache | undefined;
}

interface Pair {
  readonly premise: string;
  readonly hypothesis: string;
}

/** An entailment model behind its caches and its micro-batcher: one per model and process, shared by all jobs. */
export class Entailer {
  readonly model: EntailmentModel;
  readonly #batches: CachedBatches<Pair, number>;

  constructor(model: EntailmentModel, options: ModelFrontOptions<EntailmentProcessCache>) {
    this.model = model;
    this.#batches = new CachedBatches<Pair, number>({
      ...options,
      run: async (pairs, signal) =>
        (await model.entail(pairs, signal)).map((probabilities, index) => shareOf(probabilities, model.id, index)),
      countTokens: ({ premise, hypothesis }) =>
        Math.min(model.countTokens(premise) + model.countTokens(hypothesis), model.maxTokens),
      batching: model.batching ?? LOCAL_BATCHING,
    });
  }

  /**
   * P(entail) / (P(entail) + P(contradict)) of the condition for each premise (none of them empty), in order. Errors: the
   * model's, `model_bad_output`, `cancelled`; what was computed before an error is in the caches already.
   */
  async entail(
    premises: readonly string[],
    condition: string,
    options: EntailOptions,
  ): Promise<AskReport & { readonly values: readonly number[] }> {
    const { template } = options;
    const hypothesis = template.replace("{}", () => condition);
    const hashes = premises.map((premise) => entailmentHash({ modelId: this.model.id, template, premise, condition }));
    const items = new Map(hashes.map((hash, index) => [hash, { premise: present(premises[index]), hypothesis }]));
    const { values, cacheHits, batchSizes } = await this.#batches.ask(items, options.cache, options);
    return { values: hashes.map((hash) => present(values.get(hash))), cacheHits, batchSizes };
  }
}

function shareOf(probabilities: EntailmentProbabilities, model: string, index: number): number {
  const { entailment, neutral, contradiction } = probabilities;
  if (![entailment, neutral, contradiction].every((value) => value >= 0 && value <= 1)) {
    throw new EspalierError(
      "model_bad_output",
      `The model ${model} answered something else than probabilities for the pair at index ${index}.`,
      { details: { model, index } },
    );
  }
  const both = entailment + contradiction;
  // A model that is sure of "neutral" to the last bit says nothing for the condition.
  return both > 0 ? entailment / both : 0;
}
