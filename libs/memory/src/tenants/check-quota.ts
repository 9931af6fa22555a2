import { EspalierError } from "#core";
import type { KeyStore } from "../ports/side-stores.js";
import type { TreeStore } from "../ports/tree-store.js";
import type { TenantLimitSource } from "./tenant-limits.js";

/** When to come back, if somebody else makes room: sooner is no use. */
const RETRY_AFTER_SECONDS = 60;

/** What a write would add to what its tenant has stored. */
export interface WantedRoom {
  readonly nodes: number;
  readonly bytes: number;
}

/** The least that a write adds: with this it is asked whether anything fits at all. */
export const LEAST_ROOM: WantedRoom = { nodes: 1, bytes: 1 };

/**
 * Refuses a write for which its tenant has no room. Nothing is reserved: the sums are those of the commits that are done, so
 * that writes of other memories which are between this and their commit come on top. One statement for a tenant with a
 * quota, O(its memories); none for others.
 * @throws EspalierError `quota_exceeded`, `store_unavailable`
 */
export async function checkQuota(
  { tree, limits }: { readonly tree: Pick<TreeStore, "totals">; readonly limits: TenantLimitSource },
  tenant: string,
  wanted: WantedRoom,
): Promise<void> {
  const most = await limits.of(tenant);
  if (most.nodes === undefined && most.bytes === undefined) return;
  const stored = await tree.totals(tenant);
  for (const limit of ["nodes", "bytes"] as const) {
    const value = most[limit];
    if (value === undefined || stored[limit] + wanted[limit] <= value) continue;
    throw exceeded({ limit, value, current: stored[limit], wanted: wanted[limit] });
  }
}

/**
 * Refuses one more memory where a tenant has as many as it may. Those that others are making at the same time come on top.
 * O(memories of the tenant), over an index.
 * @throws EspalierError `quota_exceeded`, `store_unavailable`
 */
export async function checkMemoryQuota(
  { tree, limits }: { readonly tree: Pick<TreeStore, "totals">; readonly limits: TenantLimitSource },
  tenant: string,
): Promise<void> {
  const { memories: value } = await limits.of(tenant);
  if (value === undefined) return;
  const { memories: current } = await tree.totals(tenant);
  if (current >= value) throw exceeded({ limit: "memories", value, current, wanted: 1 });
}

/**
 * The same for one more API key; keys that have ended do not count. O(keys of the tenant).
 * @throws EspalierError `quota_exceeded`, `store_unavailable`
 */
export async function checkKeyQuota(
  { keys, limits }: { readonly keys: Pick<KeyStore, "countLive">; readonly limits: TenantLimitSource },
  tenant: string,
  now: number,
): Promise<void> {
  const { keys: value } = await limits.of(tenant);
  if (value === undefined) return;
  const current = await keys.countLive(tenant, now);
  if (current >= value) throw exceeded({ limit: "keys", value, current, wanted: 1 });
}

function exceeded({
  wanted,
  ...details
}: {
  readonly limit: "nodes" | "bytes" | "memories" | "keys";
  readonly value: number;
  readonly current: number;
  readonly wanted: number;
}): EspalierError {
  const { limit, value, current } = details;
  const message = `The tenant may have ${value} ${limit} and has ${current}; this needs ${wanted} more.`;
  return new EspalierError("quota_exceeded", message, {
    details: { ...details, retryAfterSeconds: RETRY_AFTER_SECONDS },
  });
}
