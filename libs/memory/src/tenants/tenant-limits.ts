import type { OwnTenantLimits, TenantLimits } from "#core";
import { LRUCache } from "lru-cache";
import type { TenantStore } from "../ports/tenant-store.js";

/** Tenants whose limits a process remembers, and for how many milliseconds: a change holds everywhere after them. */
const REMEMBERED_TENANTS = 10_000;
const REMEMBERED_MS = 1_000;

/** The limits of tenants. Errors: `store_unavailable`. */
export interface TenantLimitSource {
  of(tenant: string): Promise<TenantLimits>;
}

/** The limits in the tenants' records, and the deployment's where a record has none. One read a second and tenant. */
export function createTenantLimits(
  tenants: Pick<TenantStore, "get">,
  defaults: TenantLimits,
  now: () => number,
): TenantLimitSource {
  const known = new LRUCache<string, TenantLimits>({
    ...{ max: REMEMBERED_TENANTS, ttl: REMEMBERED_MS, ttlResolution: 0, perf: { now } },
    fetchMethod: async (tenant) => limitsOf(defaults, (await tenants.get(tenant))?.limits ?? {}),
  });
  return { of: async (tenant) => (await known.fetch(tenant)) ?? defaults };
}

/** A rate of its own does not come with the burst of another rate, and no rate with none. */
function limitsOf({ burst, ...defaults }: TenantLimits, own: OwnTenantLimits): TenantLimits {
  const all = { ...defaults, ...(burst !== undefined && own.requestsPerSecond === undefined && { burst }), ...own };
  const limits = Object.entries(all).filter(([, limit]) => limit !== "unlimited");
  return Object.fromEntries(
    all.requestsPerSecond === "unlimited" ? limits.filter(([name]) => name !== "burst") : limits,
  );
}
