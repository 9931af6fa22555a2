import type { CacheStore } from "#memory";

type Caches = Pick<CacheStore, "embeddings" | "entailments">;

/** A cache of one tenant. */
interface Cache<Value> {
  get(keys: readonly string[]): Promise<ReadonlyMap<string, Value>>;
  put(entries: ReadonlyMap<string, Value>, tokens?: number): Promise<void>;
}

/**
 * The tenants' caches, where it is told what a model read: whatever it answers is kept here, under the tenant for whom it was
 * asked. What a cache knew costs nothing; texts that got no answer are not told.
 */
export function meterCaches(caches: Caches, spent: (tenant: string, tokens: number) => void): Caches {
  const metered = <Value>(tenant: string, cache: Cache<Value>): Cache<Value> => ({
    get: (keys) => cache.get(keys),
    put: (entries, tokens = 0) => {
      spent(tenant, tokens);
      return cache.put(entries);
    },
  });
  return {
    embeddings: (tenant) => metered(tenant, caches.embeddings(tenant)),
    entailments: (tenant) => metered(tenant, caches.entailments(tenant)),
  };
}
