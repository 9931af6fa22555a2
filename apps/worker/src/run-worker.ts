import type { Config } from "#core";
import { beat, WORKER_HEARTBEAT } from "./heartbeat.js";
import { startWorker, type WorkerOptions } from "./start-worker.js";

/**
 * A worker as a whole process: tells its parent when it is ready, drains on SIGTERM and SIGINT, and ends at once when the
 * channel to its parent breaks, for then nobody supervises it, and whoever starts next must not find two sets of workers.
 * A second signal ends it at once. Its event loop tells the parent that it turns. Never resolves.
 */
export async function runWorker(config: Config, options: WorkerOptions): Promise<void> {
  process.once("disconnect", () => process.exit(1));
  const worker = await startWorker(config, options);
  const stop = (): void => {
    for (const name of ["SIGTERM", "SIGINT"] as const) process.once(name, () => process.exit(1));
    worker.close().then(
      () => process.exit(0),
      () => process.exit(1),
    );
  };
  process.once("SIGTERM", stop);
  process.once("SIGINT", stop);
  if (process.send !== undefined) beat(process, WORKER_HEARTBEAT);
  process.send?.({ type: "ready", ...(worker.metricsUrl !== undefined && { metricsUrl: worker.metricsUrl }) });
}
