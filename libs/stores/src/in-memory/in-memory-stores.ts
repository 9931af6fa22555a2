import { type CacheLimits, DEFAULT_CACHE_LIMITS, type Stores } from "../stores.js";
import { InMemoryLexicalIndex } from "./lexical-index.js";
import { InMemoryBlobStore, InMemoryCacheStore, InMemoryKeyStore } from "./side-stores.js";
import { Tables } from "./tables.js";
import { InMemoryTenantStore } from "./tenant-store.js";
import { InMemoryTreeStore } from "./tree-store.js";
import { InMemoryVectorStore } from "./vector-store.js";

/**
 * The reference: plain arrays that every call looks through, easy to see to be right. Other adapters must answer the same.
 * For tests; nothing is kept when the process ends.
 */
export function inMemoryStores(cacheLimits: CacheLimits = DEFAULT_CACHE_LIMITS): Stores {
  const tables = new Tables();
  return {
    tree: new InMemoryTreeStore(tables),
    vectors: new InMemoryVectorStore(tables),
    lexical: new InMemoryLexicalIndex(tables),
    caches: new InMemoryCacheStore(tables, cacheLimits),
    blobs: new InMemoryBlobStore(tables),
    keys: new InMemoryKeyStore(tables),
    tenants: new InMemoryTenantStore(tables),
    ping: async () => {
      tables.checkOpen();
    },
    close: async () => {
      tables.closed = true;
    },
  };
}
