import type { Embedder } from "#scoring";

/** The embedding models that this deployment is configured for, each behind its caches and its micro-batcher. */
export interface EmbeddingModels {
  /** Id of the model of new memories. */
  readonly default: string;
  /**
   * The front of a model, one per process; a local model is loaded when first asked for.
   * Errors: `model_unknown`, `model_unavailable`.
   */
  get(id: string): Promise<Embedder>;
}
