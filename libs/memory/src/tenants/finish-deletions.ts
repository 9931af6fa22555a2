import { LIMITS } from "#core";
import type { TenantStore } from "../ports/tenant-store.js";
import { deleteTenant, type DeleteTenantServices } from "./delete-tenant.js";

export interface FinishServices extends DeleteTenantServices {
  readonly tenants: Pick<TenantStore, "patch" | "remove" | "list">;
}

/**
 * Goes on with deletions of tenants that nobody has worked on for `idleMs`: the process that began them died, or answered
 * before they were done. Answers how many tenants are gone by it. O(tenants).
 */
export async function finishDeletions(
  services: FinishServices,
  { idleMs, withinMs }: { readonly idleMs: number; readonly withinMs: number },
): Promise<number> {
  const { tenants, now } = services;
  let [finished, after]: [number, string | undefined] = [0, undefined];
  for (;;) {
    const page = await tenants.list({ limit: LIMITS.pageItems, ...(after !== undefined && { after }) });
    const stale = page.filter(({ deletedAt }) => deletedAt !== undefined && deletedAt <= now() - idleMs);
    for (const { id } of stale) if ((await deleteTenant(services, id, { withinMs })).done) finished += 1;
    if (page.length < LIMITS.pageItems) return finished;
    after = page.at(-1)?.id;
  }
}
