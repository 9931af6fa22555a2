import { LRUCache } from "lru-cache";
import { EspalierError, type Clock } from "#core";
import { NO_TENANT, type ApiKey, type KeyStore, type TenantStore } from "#memory";
import { hashSecret } from "./secret.js";

/** How long a key is remembered: a revoked one works for at most this time where nobody could be told. Milliseconds. */
export const KEY_CACHE_MS = 500;

/** Keys remembered per process. */
const CACHED_KEYS = 10_000;

/** Whether a tenant's keys are let in. */
type Standing = "active" | "suspended" | "gone";

interface Known {
  readonly key: ApiKey | undefined;
  readonly standing: Standing;
}

/**
 * From the header to the key. Unknown keys cost the same as known ones: one hash and one look-up, both remembered for a
 * moment.
 */
export class Authenticator {
  readonly #cache = new LRUCache<string, Known>({ max: CACHED_KEYS, ttl: KEY_CACHE_MS });
  /** Grows when everything is forgotten: what was read before must not be remembered after. */
  #generation = 0;

  constructor(
    private readonly keys: Pick<KeyStore, "byHash">,
    private readonly tenants: Pick<TenantStore, "get">,
    private readonly clock: Clock,
  ) {}

  /**
   * The key of an `Authorization` header.
   * @throws EspalierError `unauthorized`, `key_expired`, `tenant_suspended`, `store_unavailable`
   */
  async authenticate(header: string | undefined): Promise<ApiKey> {
    const match = /^Bearer +([\x21-\x7e]{1,512})$/i.exec(header ?? "");
    if (match === null) {
      throw new EspalierError("unauthorized", "The request has no `Authorization: Bearer <key>` header.");
    }
    const { key, standing } = await this.#find(hashSecret(match[1] ?? ""));
    if (key === undefined || standing === "gone") {
      throw new EspalierError("unauthorized", "The API key is not valid.");
    }
    if (key.expiresAt !== undefined && key.expiresAt <= this.clock.now()) {
      throw new EspalierError("key_expired", `The API key expired at ${new Date(key.expiresAt).toISOString()}.`);
    }
    if (standing === "suspended") throw new EspalierError("tenant_suspended", "The tenant of the key is suspended.");
    return key;
  }

  /** Whether a key that was let in would be refused by now. While the store is away nobody can tell, and it is not. */
  async refuses(header: string | undefined): Promise<boolean> {
    try {
      await this.authenticate(header);
      return false;
    } catch (error) {
      return error instanceof EspalierError && error.kind.status < 500;
    }
  }

  /** Forgets every key: keys or tenants have changed. */
  forget(): void {
    this.#generation += 1;
    this.#cache.clear();
  }

  async #find(hash: string): Promise<Known> {
    const known = this.#cache.get(hash);
    if (known !== undefined) return known;
    const generation = this.#generation;
    const key = await this.keys.byHash(hash);
    const found = { key, standing: key === undefined ? ("gone" as const) : await this.#standingOf(key.tenant) };
    if (generation === this.#generation) this.#cache.set(hash, found);
    return found;
  }

  async #standingOf(id: string): Promise<Standing> {
    if (id === NO_TENANT) return "active";
    const tenant = await this.tenants.get(id);
    if (tenant === undefined || tenant.deletedAt !== undefined) return "gone";
    return tenant.suspendedAt === undefined ? "active" : "suspended";
  }
}
