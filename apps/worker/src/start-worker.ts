import type { Logger } from "pino";
import { ConfigError, LIMITS, systemClock, type Config } from "#core";
import { JOB_KINDS, startJobWorkers, type JobKind, type JobSettings, type RunReport } from "#jobs";
import type { Stores } from "#stores";
import { answerMetrics, createLogger, createMetrics, serveMetrics, type Metrics } from "#telemetry";
import { LOOP_TIMES, startLoops, type LoopTimes } from "./apart/start-loops.js";
import { openRuntime, type OpenRuntime } from "./open-runtime.js";
import { startDeletions } from "./tenants/start-deletions.js";
import { createWorkerApplication } from "./worker.module.js";

/** How often expired payloads and results are removed. */
const SWEEP_MS = 600_000;

/** Of the seconds that a stop may take: draining, then giving back what did not end; the rest is for closing. */
const DRAIN_SHARE = 0.7;
const GIVE_BACK_SHARE = 0.15;

export interface WorkerOptions {
  /** Default: all. */
  readonly roles?: readonly JobKind[];
  /** Whether `/metrics` is served on the configured port; a worker whose parent asks over the channel does not. */
  readonly serveMetrics?: boolean;
  readonly logger?: Logger;
  readonly jobSettings?: Partial<JobSettings>;
  /** Opens the stores; absent: those that the configuration names. */
  readonly openStores?: () => Stores;
  readonly loopTimes?: Partial<LoopTimes>;
}

/** A worker that takes jobs. */
export interface RunningWorker {
  readonly roles: readonly JobKind[];
  /** Where `/metrics` is, when it is served. */
  readonly metricsUrl?: string;
  /** Takes no more jobs, lets those that run end, and closes, within the configured time. */
  close(): Promise<void>;
}

/**
 * Starts the processors of some roles over the configured stores and models. Resolves when every queue is being read; a
 * Redis that is away is waited for.
 * @throws ConfigError without REDIS_URL; Error if a job of the roles has no handler, or two; the stores' and the models'
 * errors. Nothing is left open then.
 */
export async function startWorker(config: Config, options: WorkerOptions = {}): Promise<RunningWorker> {
  if (config.redisUrl === undefined) throw new ConfigError(["REDIS_URL is needed by a worker that runs by itself"]);
  const roles = options.roles ?? JOB_KINDS;
  const logger = options.logger ?? createLogger({ level: config.logLevel, process: "worker" });
  const metrics = createMetrics(`worker-${roles.length === JOB_KINDS.length ? "all" : roles.join("-")}`, systemClock);
  await using opened = new AsyncDisposableStack();
  const { redisUrl } = config;
  const { jobSettings } = options;
  const open = opened.use(
    await openRuntime({ ...config, redisUrl }, { metrics, jobSettings, openStores: options.openStores }),
  );
  const { runtime, payloadStore } = open;
  const { application, processors } = await createWorkerApplication(runtime, roles);
  opened.defer(() => application.close());
  // One that never gets to look must not look as if it had no queues.
  for (const role of roles) metrics.workerTurned(role);
  const workers = startJobWorkers({
    ...{ redis: redisUrl, roles, payloadStore, clock: systemClock },
    handlers: processors.flatMap(({ handlers }) => handlers),
    onRun: (report) => {
      tell(logger, metrics, report);
    },
    onTurn: (kind) => {
      metrics.workerTurned(kind);
    },
    onError: (error) => {
      logger.warn({ err: error }, "trouble with the queues");
    },
    // Where vectors lie apart these jobs ask no model: they read whole memories, a few at a time.
    ...(runtime.apart !== undefined && { concurrency: { score: LIMITS.storeRequestsInFlight } }),
    ...(jobSettings !== undefined && { settings: jobSettings }),
  });
  const stopMs = config.shutdownSeconds * 1_000;
  opened.defer(() => workers.close({ drainMs: stopMs * DRAIN_SHARE, giveBackMs: stopMs * GIVE_BACK_SHARE }));
  const metricsUrl = options.serveMetrics === true ? await serveOwn(config, metrics, opened) : undefined;
  answerMetrics(process, () => metrics.snapshot());
  await workers.ready();
  logger.info({ roles }, "worker ready");
  open.warmUp().catch((error: unknown) => {
    logger.error({ err: error }, "the embedding model cannot be loaded: jobs that need it will fail");
  });
  const times = { ...LOOP_TIMES, ...options.loopTimes };
  if (roles.includes("maintain")) {
    opened.defer(sweepNowAndThen(open, logger));
    opened.defer(startDeletions(open, logger, times.deletionMs));
  }
  if (runtime.apart !== undefined) {
    opened.defer(startLoops(runtime.apart, { roles, jobs: runtime.jobs, logger, times }));
  }
  const closing = opened.move();
  return {
    roles,
    ...(metricsUrl !== undefined && { metricsUrl }),
    close: async () => {
      logger.info({ active: workers.active() }, "worker stopping");
      await closing.disposeAsync();
    },
  };
}

async function serveOwn(config: Config, metrics: Metrics, opened: AsyncDisposableStack): Promise<string | undefined> {
  if (config.metricsPort === undefined) return undefined;
  const server = await serveMetrics(metrics, { host: config.host, port: config.metricsPort });
  opened.defer(() => server.close());
  return `http://${config.host.includes(":") ? `[${config.host}]` : config.host}:${server.port}/metrics`;
}

/** Removes what has expired until the returned function is called. A sweep that fails is made up for by the next. */
function sweepNowAndThen(open: OpenRuntime, logger: Logger): () => void {
  const timer = setInterval(() => {
    open.sweep().then(
      (removed) => {
        if (removed > 0) logger.debug({ removed }, "expired payloads removed");
      },
      (error: unknown) => {
        logger.warn({ err: error }, "expired payloads could not be removed");
      },
    );
  }, SWEEP_MS);
  return () => {
    clearInterval(timer);
  };
}

/** One line and one observation per run. Errors of the callers' making are no trouble of ours. */
function tell(logger: Logger, metrics: Metrics, report: RunReport): void {
  const { kind, name, tenant, id, attempt, outcome, waitMs, runMs, error } = report;
  metrics.jobRan({ queue: kind, outcome, waitMs, runMs });
  const limit = error?.code === "quota_exceeded" ? error.details["limit"] : undefined;
  if (typeof limit === "string") metrics.limitRefused(limit);
  const line = { job: id, name, tenant, attempt, outcome, waitMs, runMs, ...(error !== undefined && { err: error }) };
  if (outcome === "dead") logger.error(line, "job given up");
  else if (outcome === "retried") logger.warn(line, "job tried again");
  else logger.debug(line, "job run");
}
