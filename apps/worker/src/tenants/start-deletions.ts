import type { Logger } from "pino";
import { LIMITS } from "#core";
import { startLoop } from "../apart/start-loop.js";
import type { OpenRuntime } from "../open-runtime.js";

/** Looks now and then for deletions of tenants that were cut short, and finishes them. Answers how to stop it. */
export function startDeletions(open: OpenRuntime, logger: Logger, everyMs: number): () => Promise<void> {
  const loop = startLoop({
    everyMs,
    turn: async () => {
      // A process that is on it says so more often than this.
      const finished = await open.finishDeletions({ idleMs: 2 * everyMs, withinMs: LIMITS.tenantDeletionMs });
      if (finished > 0) logger.info({ tenants: finished }, "deletions of tenants finished");
      return "done";
    },
    onError: (error) => {
      logger.warn({ err: error }, "trouble with the deletion of a tenant");
    },
    random: Math.random,
  });
  return () => loop.stop();
}
