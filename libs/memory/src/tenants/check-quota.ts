import { EspalierError } from "#core";
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
    const message = `The tenant may store ${value} ${limit} and has ${stored[limit]}; this needs ${wanted[limit]} more.`;
    throw new EspalierError("quota_exceeded", message, {
      details: { limit, value, current: stored[limit], retryAfterSeconds: RETRY_AFTER_SECONDS },
    });
  }
}
