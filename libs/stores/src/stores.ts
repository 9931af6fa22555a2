import { LIMITS } from "#core";
import type {
  BlobStore,
  CacheStore,
  KeyStore,
  LexicalIndex,
  Outbox,
  PointInventory,
  TenantStore,
  TreeStore,
  VectorStore,
} from "#memory";

/** All stores of one process, over one place where the data lies. */
export interface Stores {
  readonly tree: TreeStore;
  readonly vectors: VectorStore;
  readonly lexical: LexicalIndex;
  readonly caches: CacheStore;
  readonly blobs: BlobStore;
  readonly keys: KeyStore;
  readonly tenants: TenantStore;
  /** Where trees and vectors lie apart: what keeps them together. */
  readonly apart?: { readonly outbox: Outbox; readonly points: PointInventory };
  /** Answers when the stores do. Errors: `store_unavailable`. */
  ping(): Promise<void>;
  /** Waits for the write in progress, then gives everything back. Later calls answer `store_unavailable`. */
  close(): Promise<void>;
}

/** Largest numbers of rows of the persistent caches, over all tenants; the oldest go first. */
export interface CacheLimits {
  readonly embeddings: number;
  readonly entailments: number;
}

export const DEFAULT_CACHE_LIMITS: CacheLimits = {
  embeddings: LIMITS.cachedEmbeddings,
  entailments: LIMITS.cachedEntailments,
};
