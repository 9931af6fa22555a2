import type { BlobStore, CacheStore, KeyStore, LexicalIndex, TreeStore, VectorStore } from "#memory";

/** All stores of one process, over one place where the data lies. */
export interface Stores {
  readonly tree: TreeStore;
  readonly vectors: VectorStore;
  readonly lexical: LexicalIndex;
  readonly caches: CacheStore;
  readonly blobs: BlobStore;
  readonly keys: KeyStore;
  /** Answers when the stores do. Errors: `store_unavailable`. */
  ping(): Promise<void>;
  /** Waits for the write in progress, then gives everything back. Later calls answer `store_unavailable`. */
  close(): Promise<void>;
}
