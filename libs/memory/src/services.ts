import type { Clock } from "#core";
import type { Entailer } from "#scoring";
import type { EmbeddingModels } from "./ports/embedding-models.js";
import type { Outbox, PointInventory } from "./ports/outbox.js";
import type { CacheStore } from "./ports/side-stores.js";
import type { TreeStore } from "./ports/tree-store.js";
import type { LexicalIndex, VectorStore } from "./ports/vector-store.js";
import type { TenantLimitSource } from "./tenants/tenant-limits.js";

/** Everything that growing, reading and maintaining a memory needs; a worker fills it once. */
export interface MemoryServices {
  readonly tree: TreeStore;
  readonly vectors: VectorStore;
  readonly lexical: LexicalIndex;
  readonly caches: Pick<CacheStore, "embeddings" | "entailments">;
  readonly embeddingModels: EmbeddingModels;
  /** The front of the entailment model, opened when first asked for. Absent: `entailment` answers `scorer_unavailable`. */
  readonly entailer?: () => Promise<Entailer>;
  /** Present where trees and vectors lie apart: writers then leave embedding to the outbox. */
  readonly apart?: { readonly outbox: Outbox; readonly points: PointInventory };
  /** Absent: tenants may store as much as they like. */
  readonly limits?: TenantLimitSource;
  readonly clock: Clock;
}

/** How a run of work reports and hears that it is no longer wanted. */
export interface RunContext {
  /** Aborted: the work stops before its next store or model call with the signal's reason, or `cancelled`. */
  readonly signal?: AbortSignal | undefined;
  /** Cheap to call often. */
  readonly progress?: ((done: number, total: number) => void) | undefined;
}
