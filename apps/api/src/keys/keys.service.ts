import { Inject, Injectable } from "@nestjs/common";
import { EspalierError, idFromUuid, isId, LIMITS } from "#core";
import { checkKeyQuota, NO_TENANT, type ApiKey } from "#memory";
import { hashSecret, newSecret } from "../auth/secret.js";
import { API_DEPENDENCIES, type ApiDependencies } from "../dependencies.js";
import type { Caller } from "../http/caller.js";
import { readPage, type Page } from "../http/cursor.js";
import { invalidRequest } from "../http/invalid-request.js";
import { withoutUndefined } from "../http/without-undefined.js";
import { tenantNotFound } from "../tenants/tenant-not-found.js";
import type { NewKeyBody, RotateKeyBody } from "../wire/key.js";
import { checkGift, placeOfNewKey, reachesKey, requireTenant } from "./key-reach.js";

/** A key with its secret, which is nowhere else. */
export interface MadeKey {
  readonly key: ApiKey;
  readonly secret: string;
}

export interface RotatedKey extends MadeKey {
  readonly replaced: { readonly id: string; readonly expiresAt: number };
}

export interface KeyListQuery {
  readonly limit: number;
  readonly cursor?: string | undefined;
  readonly tenant?: string | undefined;
}

/** API keys, as far as the caller reaches (see key-reach.ts). */
@Injectable()
export class KeysService {
  constructor(@Inject(API_DEPENDENCIES) private readonly dependencies: ApiDependencies) {}

  /**
   * Makes a key. A key never reaches further than the one that made it, and ends with it when nothing is said; keys that an
   * operator makes for a tenant are the tenant's.
   * `effect`: the UUID under which a repeated request makes it, once.
   * @throws EspalierError `forbidden`, `tenant_not_found`, `quota_exceeded`, `invalid_request` for an expiry in the past or
   * after the maker's
   */
  async create(caller: Caller, body: NewKeyBody, effect?: string): Promise<MadeKey> {
    const tenant = placeOfNewKey(caller, body);
    const given = tenant === caller.tenant || tenant === NO_TENANT;
    if (given) checkGift(caller, body);
    else await this.#requireLiving(tenant);
    const memoryPrefix = body.memoryPrefix ?? (given ? caller.memoryPrefix : undefined);
    const end = body.expiresAt === undefined ? undefined : this.#future(body.expiresAt);
    const last = given ? caller.expiresAt : undefined;
    if (end !== undefined && last !== undefined && end > last) throw afterMaker();
    return this.#make(
      {
        tenant,
        name: body.name ?? "",
        scopes: body.scopes,
        ...withoutUndefined({ memoryPrefix, expiresAt: end ?? last }),
      },
      { effect, adds: 1 },
    );
  }

  /** @throws EspalierError `forbidden`, `tenant_not_found` */
  async list(caller: Caller, { tenant = caller.tenant, ...page }: KeyListQuery): Promise<Page<ApiKey>> {
    requireTenant(caller, tenant);
    const isKnown = tenant === caller.tenant || tenant === NO_TENANT;
    if (!isKnown && (await this.dependencies.tenants.get(tenant)) === undefined) throw tenantNotFound();
    return readPage(
      page,
      (query) => this.dependencies.keys.list(tenant, query),
      (key) => reachesKey(caller, key),
    );
  }

  /**
   * Makes a key that does what another does, and has that one end when the overlap is over. The new one lives as long as the
   * old one was made for when nothing is said, but no longer than the caller's own.
   * Without an overlap it takes the place of an old one that has not ended, also where a tenant has as many keys as it may.
   * @throws EspalierError `key_not_found`, `forbidden`, `quota_exceeded`, `invalid_request` as `create`
   */
  async rotate(
    caller: Caller,
    id: string,
    { overlapSeconds, expiresAt, effect }: RotateKeyBody & { readonly effect: string | undefined },
  ): Promise<RotatedKey> {
    const { keys, clock, news } = this.dependencies;
    const old = await this.#find(caller, id);
    const given = old.tenant === caller.tenant || old.tenant === NO_TENANT;
    if (given) checkGift(caller, old);
    const now = clock.now();
    const last = (given ? caller.expiresAt : undefined) ?? Infinity;
    const wanted = expiresAt === undefined ? undefined : this.#future(expiresAt);
    if (wanted !== undefined && wanted > last) throw afterMaker();
    const end = wanted ?? Math.min(last, now + (old.expiresAt ?? Infinity) - old.createdAt);
    const { tenant, name, scopes, memoryPrefix } = old;
    // One that has ended leaves no place: replacing it again and again would pass any limit.
    const takesPlace = overlapSeconds === 0 && (old.expiresAt ?? Infinity) > now;
    const made = await this.#make(
      { tenant, name, scopes, ...withoutUndefined({ memoryPrefix, expiresAt: end === Infinity ? undefined : end }) },
      { effect, adds: takesPlace ? 0 : 1 },
    );
    const ending = await keys.expire(id, now + overlapSeconds * 1_000);
    await news.tell();
    return { ...made, replaced: { id, expiresAt: ending?.expiresAt ?? now } };
  }

  /** @throws EspalierError `key_not_found`, also for a key that the caller does not reach; `forbidden` */
  async delete(caller: Caller, id: string): Promise<void> {
    const { keys, news } = this.dependencies;
    const { tenant } = await this.#find(caller, id);
    if (!(await keys.remove(tenant, id))) throw keyNotFound();
    await news.tell();
  }

  /** `adds`: keys that there are more of by it. Those of no tenant are operators', who are not bounded. */
  async #make(
    wish: Omit<ApiKey, "id" | "createdAt">,
    { effect, adds }: { readonly effect: string | undefined; readonly adds: 0 | 1 },
  ): Promise<MadeKey> {
    const { keys, ids, clock } = this.dependencies;
    const id = effect === undefined ? ids("key") : idFromUuid("key", effect);
    const key: ApiKey = { ...wish, id, createdAt: clock.now() };
    const secret = newSecret();
    // A request whose process died may have made it; nobody has seen that secret.
    if (effect !== undefined) await keys.remove(key.tenant, key.id);
    if (adds > 0 && key.tenant !== NO_TENANT) await checkKeyQuota(this.dependencies, key.tenant, key.createdAt);
    await keys.forgetEnded(key.tenant, { by: key.createdAt, keep: LIMITS.endedKeys });
    await keys.add(key, hashSecret(secret));
    return { key, secret };
  }

  /** A key that the caller may change. */
  async #find(caller: Caller, id: string): Promise<ApiKey> {
    const key = isId("key", id) ? await this.dependencies.keys.get(id) : undefined;
    if (key === undefined || !reachesKey(caller, key)) throw keyNotFound();
    if (key.scopes.includes("operator") && !caller.scopes.includes("operator")) {
      throw new EspalierError("forbidden", "Only an operator changes an operator's key.", {
        details: { scope: "operator" },
      });
    }
    return key;
  }

  async #requireLiving(id: string): Promise<void> {
    const tenant = await this.dependencies.tenants.get(id);
    if (tenant === undefined || tenant.deletedAt !== undefined) throw tenantNotFound();
  }

  #future(instant: string): number {
    const time = Date.parse(instant);
    if (time <= this.dependencies.clock.now()) throw badExpiry("must be in the future");
    return time;
  }
}

function keyNotFound(): EspalierError {
  return new EspalierError("key_not_found", "There is no such API key.");
}

function afterMaker(): EspalierError {
  return badExpiry("must not be after that of the key that makes it");
}

function badExpiry(message: string): EspalierError {
  return invalidRequest("body", "expiresAt", message);
}
