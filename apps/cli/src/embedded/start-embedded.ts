import type { Logger } from "pino";
import { systemClock, type Config } from "#core";
import { askMetrics, createMetrics, type MetricsSnapshot } from "#telemetry";
import type { FirstKey } from "../../../api/src/auth/admin-key.js";
import { openApi } from "../../../api/src/open-api.js";
import { listening } from "../listening.js";
import { dataFolder, lockFolder, makeFolders, type DataFolder, type FolderLock } from "./data-folder.js";
import { redisAddress, startPrivateRedis } from "./private-redis.js";
import type { Supervised } from "./supervise.js";
import { startWorkerPool } from "./worker-pool.js";

/**
 * Of the seconds that a stop may take: the API answers who waits, then the workers end their jobs or give them back, then
 * Redis closes. What takes longer is killed.
 */
const API_SHARE = 0.4;
const WORKER_SHARE = 0.4;
const REDIS_SHARE = 0.1;
/** A worker that keeps to its seconds needs this much more to end. */
const WORKER_EXIT_MS = 500;

/** A worker answers a scrape at once unless it is busy; then the scrape goes on without it. */
const METRICS_MS = 1_000;

/** Everything of one machine, running. */
export interface Embedded {
  readonly url: string;
  /** Made at the first start of a folder that got so far. */
  readonly key: FirstKey;
  /** Drains and closes everything within the configured seconds. */
  close(): Promise<void>;
}

/**
 * Starts the embedded profile in this process: lock of the data folder, private Redis (unless REDIS_URL names one), worker
 * processes, API. Resolves when all of it answers; on an error everything that was started is ended again.
 * @param of.given the checked `environment`, which the workers get with REDIS_URL
 * @throws CommandError, EspalierError
 */
export async function startEmbedded(of: {
  readonly environment: NodeJS.ProcessEnv;
  readonly given: Config;
  readonly logger: Logger;
}): Promise<Embedded> {
  const { given } = of;
  const folder = dataFolder(given.dataFolder);
  makeFolders(folder);
  const lock = lockFolder(folder);
  const children: Supervised[] = [];
  // However this process ends, but for kill -9, no child outlives it.
  process.once("exit", () => {
    killAll(children);
  });
  try {
    return await listening(startParts({ ...of, folder, lock, children }), given);
  } catch (error) {
    killAll(children);
    lock.release();
    throw error;
  }
}

async function startParts(parts: {
  readonly environment: NodeJS.ProcessEnv;
  readonly given: Config;
  readonly folder: DataFolder;
  readonly lock: FolderLock;
  /** Everything started so far, Redis first. */
  readonly children: Supervised[];
  readonly logger: Logger;
}): Promise<Embedded> {
  const { environment, given, folder, lock, children, logger } = parts;
  const share = (part: number): number => Math.max(1, Math.floor(given.shutdownSeconds * part));
  const redis = given.redisUrl === undefined ? await startPrivateRedis(folder, logger) : undefined;
  if (redis !== undefined) children.push(redis);
  const redisUrl = given.redisUrl ?? redisAddress(folder);
  const workers = await startWorkerPool({
    folder,
    environment: { ...environment, REDIS_URL: redisUrl, ESPALIER_SHUTDOWN_SECONDS: String(share(WORKER_SHARE)) },
    ownsRedis: redis !== undefined,
    logger,
  });
  children.push(...workers);
  const metrics = createMetrics("api", systemClock);
  for (const worker of workers) metrics.include(() => metricsOf(worker));
  const [api] = await Promise.all([
    openApi({ ...given, redisUrl, shutdownSeconds: share(API_SHARE) }, { metrics }),
    ...workers.map((worker) => worker.firstReady),
  ]);
  const key = await api.firstKey();
  lock.publish(api.url);
  return {
    ...{ url: api.url, key },
    close: async () => {
      await within(api.close(), share(API_SHARE) * 1_000);
      await Promise.all(workers.map((worker) => worker.stop(share(WORKER_SHARE) * 1_000 + WORKER_EXIT_MS)));
      await redis?.stop(share(REDIS_SHARE) * 1_000);
      lock.release();
    },
  };
}

/** A worker that is just being started again has no metrics. */
async function metricsOf(worker: Supervised): Promise<MetricsSnapshot> {
  const child = worker.current();
  return child === undefined ? [] : askMetrics(child, METRICS_MS);
}

/** Workers first: Redis keeps what they were doing. */
function killAll(children: readonly Supervised[]): void {
  for (const child of [...children].reverse()) child.kill();
}

/** Waits for the end of `work`, but no longer. */
async function within(work: Promise<void>, milliseconds: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const timer = setTimeout(resolve, milliseconds, undefined);
  await Promise.race([work, promise]);
  clearTimeout(timer);
}
