import { LRUCache } from "lru-cache";
import { EspalierError, type Clock } from "#core";
import type { ApiKey, KeyStore } from "#memory";
import { hashSecret } from "./secret.js";

/** Keys remembered per process, and for how long: a revoked key works for at most this time in another process. */
const CACHED_KEYS = 10_000;
const CACHE_MS = 500;

interface Known {
  readonly key: ApiKey | undefined;
}

/**
 * From the header to the key. Unknown keys cost the same as known ones: one hash and one look-up, both remembered for a
 * moment.
 */
export class Authenticator {
  readonly #cache = new LRUCache<string, Known>({ max: CACHED_KEYS, ttl: CACHE_MS });

  constructor(
    private readonly keys: KeyStore,
    private readonly clock: Clock,
  ) {}

  /**
   * The key of an `Authorization` header.
   * @throws EspalierError `unauthorized`, `key_expired`, `store_unavailable`
   */
  async authenticate(header: string | undefined): Promise<ApiKey> {
    const match = /^Bearer +([\x21-\x7e]{1,512})$/i.exec(header ?? "");
    if (match === null) {
      throw new EspalierError("unauthorized", "The request has no `Authorization: Bearer <key>` header.");
    }
    const key = await this.#find(hashSecret(match[1] ?? ""));
    if (key === undefined) throw new EspalierError("unauthorized", "The API key is not valid.");
    if (key.expiresAt !== undefined && key.expiresAt <= this.clock.now()) {
      throw new EspalierError("key_expired", `The API key expired at ${new Date(key.expiresAt).toISOString()}.`);
    }
    return key;
  }

  /** Forgets every key: after a revocation in this process. */
  forget(): void {
    this.#cache.clear();
  }

  async #find(hash: string): Promise<ApiKey | undefined> {
    const known = this.#cache.get(hash);
    if (known !== undefined) return known.key;
    const key = await this.keys.byHash(hash);
    this.#cache.set(hash, { key });
    return key;
  }
}
