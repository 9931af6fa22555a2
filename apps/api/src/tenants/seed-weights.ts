import { setTimeout as delay } from "node:timers/promises";
import type { Logger } from "pino";
import { LIMITS } from "#core";
import type { TenantJobs } from "#jobs";
import type { TenantStore } from "#memory";

/** Pause after a try that failed: Redis or the store are away. */
const AGAIN_MS = 5_000;

/**
 * Tells the queues the weights of all tenants as their records have them: a Redis that was lost, or away when one was
 * changed, knows them again. Tries until it has, or until the process stops. O(tenants).
 */
export async function seedWeights(options: {
  readonly tenants: Pick<TenantStore, "list">;
  readonly tenantJobs: Pick<TenantJobs, "setWeight">;
  readonly stopping: AbortSignal;
  readonly logger: Logger;
}): Promise<void> {
  const { tenants, tenantJobs, stopping, logger } = options;
  let after: string | undefined;
  while (!stopping.aborted) {
    try {
      const page = await tenants.list({ limit: LIMITS.pageItems, ...(after !== undefined && { after }) });
      await Promise.all(page.map(({ id, weight }) => tenantJobs.setWeight(id, weight)));
      if (page.length < LIMITS.pageItems) return;
      after = page.at(-1)?.id;
    } catch (error) {
      logger.warn({ err: error }, "the queues do not know the weights of all tenants yet");
      await delay(AGAIN_MS, undefined, { signal: stopping }).catch(() => undefined);
    }
  }
}
