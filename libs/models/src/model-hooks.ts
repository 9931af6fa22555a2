import type { BatchReport, ModelFrontOptions } from "#scoring";

/** The caches in front of models, as metrics name them. */
export type ModelCacheName = "embedding_process" | "embedding_tenant" | "entailment_process" | "entailment_tenant";

/** What a process wants to hear of its models: for metrics. */
export interface ModelHooks {
  /** After every call of a model, failed ones too. */
  readonly onBatch?: (
    batch: BatchReport & { readonly model: string; readonly kind: "embedding" | "entailment" },
  ) => void;
  /** After every lookup: how many keys the cache knew and how many it did not. */
  readonly onLookup?: (cache: ModelCacheName, hits: number, misses: number) => void;
}

/** The hooks of one model's front. */
export function hooksOf(
  hooks: ModelHooks,
  of: { readonly model: string; readonly kind: "embedding" | "entailment" },
): Pick<ModelFrontOptions<unknown>, "onBatch" | "onLookup"> {
  return {
    onBatch: (report) => hooks.onBatch?.({ ...report, ...of }),
    onLookup: (cache, hits, misses) => hooks.onLookup?.(`${of.kind}_${cache}`, hits, misses),
  };
}
