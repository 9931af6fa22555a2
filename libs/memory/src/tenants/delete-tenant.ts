/**
 * Deletes a tenant with everything that is its own. Its record says first that it is being deleted, so that nobody is let in
 * any more, and goes last, so that a deletion that was cut short anywhere is found and begun again: every step repeats safely.
 *
 * 1. Jobs are cancelled, and those that run told to stop: what they write later finds no memory.
 * 2. Memories go one by one, each from all stores.
 * 3. Keys, caches, blobs, and what lies in Redis.
 * 4. The record, unless something is left: a job that did not stop, a memory that was made meanwhile.
 */
import { EspalierError, LIMITS } from "#core";
import type { BlobStore, CacheStore, KeyStore } from "../ports/side-stores.js";
import type { TenantStore } from "../ports/tenant-store.js";
import type { DeletionCounts, TreeStore } from "../ports/tree-store.js";

/** What the queues have of a tenant. Errors: `queue_unavailable`. */
export interface TenantQueues {
  /** Answers how many jobs were cancelled, and how many still run after `waitMs`. */
  cancelJobs(tenant: string, waitMs: number): Promise<{ readonly cancelled: number; readonly running: number }>;
  /** Answers how many keys and entries there were. */
  removeKeys(tenant: string): Promise<number>;
}

export interface DeleteTenantServices {
  readonly tree: Pick<TreeStore, "listMemories" | "deleteMemory">;
  readonly caches: Pick<CacheStore, "deleteTenant">;
  readonly blobs: Pick<BlobStore, "deleteTenant">;
  readonly keys: Pick<KeyStore, "removeAll">;
  readonly tenants: Pick<TenantStore, "patch" | "remove">;
  readonly queues: TenantQueues;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** What one call removed. */
export interface TenantDeletionCounts extends DeletionCounts {
  readonly memories: number;
  /** Jobs that had not ended. */
  readonly jobs: number;
  readonly keys: number;
  /** Rows of the tenant's caches. */
  readonly cached: number;
  /** Records and entries in the queues. */
  readonly records: number;
}

export interface TenantDeletion {
  /** False: the time was over, or something still runs; the next call goes on. */
  readonly done: boolean;
  readonly counts: TenantDeletionCounts;
}

const NOTHING: DeletionCounts = { nodes: 0, vectors: 0, terms: 0, revisions: 0, inbox: 0, blobs: 0 };

/**
 * @param options.withinMs no other memory is begun after so many milliseconds
 * @throws EspalierError `store_unavailable`, `queue_unavailable`; the next call goes on then
 */
export async function deleteTenant(
  services: DeleteTenantServices,
  tenant: string,
  { withinMs }: { readonly withinMs: number },
): Promise<TenantDeletion> {
  const { caches, blobs, keys, tenants, queues, now } = services;
  const until = now() + withinMs;
  await tenants.patch(tenant, { deletedAt: now() });
  const { cancelled, running } = await queues.cancelJobs(tenant, LIMITS.tenantStopMs);
  const removedKeys = await keys.removeAll(tenant);
  const { memories, ...deleted } = await deleteMemories(services, tenant, until);
  const cached = await caches.deleteTenant(tenant);
  const strayBlobs = await blobs.deleteTenant(tenant);
  const records = await queues.removeKeys(tenant);
  const done = running === 0 && (await services.tree.listMemories(tenant, { limit: 1 })).length === 0;
  if (done) await tenants.remove(tenant);
  return {
    done,
    counts: {
      ...{ memories, ...deleted, blobs: deleted.blobs + strayBlobs },
      ...{ jobs: cancelled, keys: removedKeys, cached, records },
    },
  };
}

async function deleteMemories(
  { tree, now }: Pick<DeleteTenantServices, "tree" | "now">,
  tenant: string,
  until: number,
): Promise<DeletionCounts & { readonly memories: number }> {
  let sum = { ...NOTHING, memories: 0 };
  while (now() < until) {
    const page = await tree.listMemories(tenant, { limit: LIMITS.pageItems });
    if (page.length === 0) break;
    for (const { id } of page) {
      if (now() >= until) break;
      sum = added(sum, await deleteMemory(tree, { tenant, memory: id }));
    }
  }
  return sum;
}

/** Another process may delete the same tenant, or its owner the memory. */
async function deleteMemory(
  tree: DeleteTenantServices["tree"],
  scope: { readonly tenant: string; readonly memory: string },
): Promise<DeletionCounts> {
  try {
    return await tree.deleteMemory(scope);
  } catch (error) {
    if (error instanceof EspalierError && error.code === "memory_not_found") return NOTHING;
    throw error;
  }
}

function added(sum: DeletionCounts & { readonly memories: number }, counts: DeletionCounts) {
  return {
    memories: sum.memories + 1,
    nodes: sum.nodes + counts.nodes,
    vectors: sum.vectors + counts.vectors,
    terms: sum.terms + counts.terms,
    revisions: sum.revisions + counts.revisions,
    inbox: sum.inbox + counts.inbox,
    blobs: sum.blobs + counts.blobs,
  };
}
