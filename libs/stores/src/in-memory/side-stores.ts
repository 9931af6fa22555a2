import type { ApiKey, BlobStore, CacheStore, KeyStore } from "#memory";
import type { Embedding } from "#scoring";
import type { CacheLimits } from "../stores.js";
import type { Tables } from "./tables.js";

/** Caches of all tenants in two maps: insertion order is age. */
export class InMemoryCacheStore implements CacheStore {
  readonly #embeddings = new Map<string, Embedding>();
  readonly #entailments = new Map<string, number>();

  constructor(
    private readonly tables: Tables,
    private readonly limits: CacheLimits,
  ) {}

  embeddings(tenant: string): ReturnType<CacheStore["embeddings"]> {
    return this.#cache(tenant, this.#embeddings, this.limits.embeddings);
  }

  entailments(tenant: string): ReturnType<CacheStore["entailments"]> {
    return this.#cache(tenant, this.#entailments, this.limits.entailments);
  }

  async deleteTenant(tenant: string): Promise<number> {
    this.tables.checkOpen();
    const own = (key: string): boolean => (JSON.parse(key) as readonly string[])[0] === tenant;
    const maps = [this.#embeddings, this.#entailments];
    const counts = maps.map((values) => [...values.keys()].filter((key) => own(key) && values.delete(key)).length);
    return counts.reduce((sum, count) => sum + count, 0);
  }

  #cache<Value>(
    tenant: string,
    values: Map<string, Value>,
    limit: number,
  ): {
    get(hashes: readonly string[]): Promise<ReadonlyMap<string, Value>>;
    put(entries: ReadonlyMap<string, Value>): Promise<void>;
  } {
    const keyOf = (hash: string): string => JSON.stringify([tenant, hash]);
    return {
      get: async (hashes) => {
        this.tables.checkOpen();
        return new Map(
          hashes.flatMap((hash) => {
            const value = values.get(keyOf(hash));
            return value === undefined ? [] : [[hash, value] as const];
          }),
        );
      },
      put: async (entries) => {
        this.tables.checkOpen();
        for (const [hash, value] of entries) if (!values.has(keyOf(hash))) values.set(keyOf(hash), value);
        for (const key of values.keys()) {
          if (values.size <= limit) return;
          values.delete(key);
        }
      },
    };
  }
}

export class InMemoryBlobStore implements BlobStore {
  constructor(private readonly tables: Tables) {}

  async put(
    tenant: string,
    key: string,
    bytes: Uint8Array,
    { memory, expiresAt }: { readonly memory?: string; readonly expiresAt: number },
  ): Promise<void> {
    await this.delete(tenant, key);
    this.tables.blobs = [...this.tables.blobs, { tenant, key, bytes: bytes.slice(), memory, expiresAt }];
  }

  async get(tenant: string, key: string): Promise<Uint8Array | undefined> {
    this.tables.checkOpen();
    return this.tables.blobs.find((blob) => blob.tenant === tenant && blob.key === key)?.bytes;
  }

  async delete(tenant: string, key: string): Promise<void> {
    this.tables.checkOpen();
    this.tables.blobs = this.tables.blobs.filter((blob) => blob.tenant !== tenant || blob.key !== key);
  }

  async deleteTenant(tenant: string): Promise<number> {
    this.tables.checkOpen();
    const before = this.tables.blobs.length;
    this.tables.blobs = this.tables.blobs.filter((blob) => blob.tenant !== tenant);
    return before - this.tables.blobs.length;
  }

  async sweep(now: number): Promise<number> {
    this.tables.checkOpen();
    const before = this.tables.blobs.length;
    this.tables.blobs = this.tables.blobs.filter(({ expiresAt }) => expiresAt >= now);
    return before - this.tables.blobs.length;
  }
}

export class InMemoryKeyStore implements KeyStore {
  constructor(private readonly tables: Tables) {}

  async add(key: ApiKey, hash: string): Promise<void> {
    this.tables.checkOpen();
    if (this.tables.keys.some((known) => known.hash === hash)) throw new Error("The key's hash is known.");
    this.tables.keys = [...this.tables.keys, { ...structuredClone(key), hash }];
  }

  async byHash(hash: string): Promise<ApiKey | undefined> {
    this.tables.checkOpen();
    const found = this.tables.keys.find((key) => key.hash === hash);
    return found && withoutHash(found);
  }

  async get(id: string): Promise<ApiKey | undefined> {
    this.tables.checkOpen();
    const found = this.tables.keys.find((key) => key.id === id);
    return found && withoutHash(found);
  }

  async expire(id: string, at: number): Promise<ApiKey | undefined> {
    this.tables.checkOpen();
    this.tables.keys = this.tables.keys.map((key) =>
      key.id === id ? { ...key, expiresAt: Math.min(key.expiresAt ?? Infinity, at) } : key,
    );
    return this.get(id);
  }

  async list(
    tenant: string,
    { limit, after = "" }: { readonly limit: number; readonly after?: string },
  ): Promise<readonly ApiKey[]> {
    this.tables.checkOpen();
    return this.tables.keys
      .filter((key) => key.tenant === tenant && key.id > after)
      .sort((left, right) => (left.id < right.id ? -1 : 1))
      .slice(0, limit)
      .map(withoutHash);
  }

  async remove(tenant: string, id: string): Promise<boolean> {
    this.tables.checkOpen();
    const before = this.tables.keys.length;
    this.tables.keys = this.tables.keys.filter((key) => key.tenant !== tenant || key.id !== id);
    return this.tables.keys.length < before;
  }

  async countLive(tenant: string, now: number): Promise<number> {
    this.tables.checkOpen();
    return this.tables.keys.filter((key) => key.tenant === tenant && (key.expiresAt ?? Infinity) > now).length;
  }

  async forgetEnded(tenant: string, { by, keep }: { readonly by: number; readonly keep: number }): Promise<number> {
    this.tables.checkOpen();
    const ended = this.tables.keys.filter((key) => key.tenant === tenant && (key.expiresAt ?? Infinity) <= by);
    const gone = ended.sort((left, right) => (right.expiresAt ?? 0) - (left.expiresAt ?? 0)).slice(keep);
    this.tables.keys = this.tables.keys.filter((key) => !gone.includes(key));
    return gone.length;
  }

  async removeAll(tenant: string): Promise<number> {
    this.tables.checkOpen();
    const before = this.tables.keys.length;
    this.tables.keys = this.tables.keys.filter((key) => key.tenant !== tenant);
    return before - this.tables.keys.length;
  }

  async count(): Promise<number> {
    this.tables.checkOpen();
    return this.tables.keys.length;
  }
}

function withoutHash(stored: ApiKey & { readonly hash: string }): ApiKey {
  const { id, tenant, name, scopes, memoryPrefix, createdAt, expiresAt } = stored;
  return {
    ...{ id, tenant, name, scopes, createdAt },
    ...(memoryPrefix !== undefined && { memoryPrefix }),
    ...(expiresAt !== undefined && { expiresAt }),
  };
}
