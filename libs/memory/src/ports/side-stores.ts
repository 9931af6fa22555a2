import type { EmbeddingCache, EntailmentCache } from "#scoring";

/** Persistent caches, keyed by tenant and deleted with it. Bounded by rows; the oldest go first. */
export interface CacheStore {
  embeddings(tenant: string): EmbeddingCache;
  entailments(tenant: string): EntailmentCache;
  /** Everything that is kept for a tenant; answers the count of rows. */
  deleteTenant(tenant: string): Promise<number>;
}

/** Bytes kept by reference: large job payloads and results. */
export interface BlobStore {
  put(
    tenant: string,
    key: string,
    bytes: Uint8Array,
    options: { readonly memory?: string; readonly expiresAt: number },
  ): Promise<void>;
  get(tenant: string, key: string): Promise<Uint8Array | undefined>;
  delete(tenant: string, key: string): Promise<void>;
  /** Every blob of a tenant; answers the count. */
  deleteTenant(tenant: string): Promise<number>;
  /** Deletes what expired before `now`; answers the count. */
  sweep(now: number): Promise<number>;
}

export type KeyScope = "read" | "write" | "admin" | "operator";

/** An API key; the secret itself is never stored, only its SHA-256. */
export interface ApiKey {
  /** TypeID `key_…`. */
  readonly id: string;
  readonly tenant: string;
  readonly name: string;
  readonly scopes: readonly KeyScope[];
  /** Only memories whose id begins so; absent: all of the tenant. */
  readonly memoryPrefix?: string;
  readonly createdAt: number;
  readonly expiresAt?: number;
}

export interface KeyStore {
  /** `hash`: SHA-256 of the secret, hex; unique. */
  add(key: ApiKey, hash: string): Promise<void>;
  byHash(hash: string): Promise<ApiKey | undefined>;
  /** Of any tenant. */
  get(id: string): Promise<ApiKey | undefined>;
  list(tenant: string, page: { readonly limit: number; readonly after?: string }): Promise<readonly ApiKey[]>;
  /** The key ends then, or at its own end if that is sooner. Answers it as it is then; undefined if there is none. */
  expire(id: string, at: number): Promise<ApiKey | undefined>;
  /** False if the tenant has no such key. */
  remove(tenant: string, id: string): Promise<boolean>;
  /** Keys of a tenant that have not ended by a time. O(keys of the tenant). */
  countLive(tenant: string, now: number): Promise<number>;
  /** Of the keys of a tenant that have ended, all but those that ended last; answers how many went. O(keys of the tenant). */
  forgetEnded(tenant: string, ended: { readonly by: number; readonly keep: number }): Promise<number>;
  /** Every key of a tenant; answers the count. */
  removeAll(tenant: string): Promise<number>;
  count(): Promise<number>;
}
