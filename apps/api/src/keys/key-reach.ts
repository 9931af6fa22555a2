/**
 * How far a caller reaches among keys. `admin` acts inside its own tenant, and a caller that is bound to a prefix of memories
 * among keys that are bound within it. `operator` acts on the keys of every tenant, and on those that belong to none; only
 * operators change or give what has that scope.
 */
import { EspalierError } from "#core";
import { NO_TENANT, type ApiKey } from "#memory";
import { reaches, type Caller } from "../http/caller.js";
import { invalidRequest } from "../http/invalid-request.js";
import type { NewKeyBody } from "../wire/key.js";

/** What a key is asked to do. */
type KeyWish = Pick<ApiKey, "scopes"> & { readonly memoryPrefix?: string | undefined };

/** Whether everything that the key reaches is within what the caller's key reaches. */
export function reachesKey(caller: Caller, key: ApiKey): boolean {
  if (key.tenant !== caller.tenant && !reachesTenants(caller)) return false;
  return caller.memoryPrefix === undefined || (key.memoryPrefix !== undefined && reaches(caller, key.memoryPrefix));
}

/** @throws EspalierError `forbidden` unless the caller may act on that tenant's keys */
export function requireTenant(caller: Caller, tenant: string): void {
  if (tenant === caller.tenant || reachesTenants(caller)) return;
  throw new EspalierError("forbidden", "Only an operator acts on the keys of another tenant.", {
    details: { scope: "operator" },
  });
}

/**
 * The tenant of a new key: the caller's own unless it names another. A key of scope `operator` alone belongs to none.
 * @throws EspalierError `forbidden`, `invalid_request`
 */
export function placeOfNewKey(caller: Caller, { tenant, scopes, memoryPrefix }: NewKeyBody): string {
  if (tenant !== undefined) requireTenant(caller, tenant);
  const isOperator = scopes.length === 1 && scopes[0] === "operator";
  if (scopes.includes("operator") && (memoryPrefix ?? caller.memoryPrefix) !== undefined) {
    throw invalidRequest("body", "memoryPrefix", "does not go with `operator`, which acts on the whole deployment");
  }
  if (isOperator && (tenant ?? NO_TENANT) === NO_TENANT) return NO_TENANT;
  const place = tenant ?? caller.tenant;
  const isForeign = place !== caller.tenant || isOperator;
  if (isForeign && (place === NO_TENANT || scopes.includes("operator"))) {
    throw invalidRequest("body", "scopes", "`operator` belongs to no tenant: ask for it alone, and without `tenant`");
  }
  return place;
}

/** @throws EspalierError `forbidden` for what the caller's key does not reach itself */
export function checkGift(caller: Caller, wish: KeyWish): void {
  const scope = wish.scopes.find((wanted) => !caller.scopes.includes(wanted));
  if (scope !== undefined) {
    throw new EspalierError("forbidden", `A key without the scope \`${scope}\` cannot give it.`, {
      details: { scope },
    });
  }
  const memoryPrefix = wish.memoryPrefix ?? caller.memoryPrefix;
  if (caller.memoryPrefix !== undefined && memoryPrefix?.startsWith(caller.memoryPrefix) !== true) {
    throw new EspalierError("forbidden", "The new key would reach further than the key that makes it.");
  }
}

/** A prefix of memories bounds an operator's key to its own tenant. */
function reachesTenants({ scopes, memoryPrefix }: Caller): boolean {
  return scopes.includes("operator") && memoryPrefix === undefined;
}
