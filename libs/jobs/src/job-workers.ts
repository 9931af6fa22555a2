import { setTimeout as pause } from "node:timers/promises";
import { UnrecoverableError, Worker, type Job } from "bullmq";
import type { Redis } from "ioredis";
import { EspalierError, type Clock } from "#core";
import { Admission } from "./admission/admission.js";
import { Sweeper } from "./admission/sweeper.js";
import { checkHandlers, type NamedHandler } from "./check-handlers.js";
import type { JobData } from "./job-data.js";
import { isJobKind, queuesOf } from "./job-names.js";
import { jobKeys, queueJobId } from "./keys.js";
import { LastRun } from "./last-run.js";
import { bounded, connectRedis, isCluster } from "./redis.js";
import { buryJob, runJob, statusOf, stopRun, type RunDeps, type RunReport } from "./run-job.js";
import { JOB_SETTINGS, QUEUE_RETENTION, retryDelayMs, type JobSettings } from "./settings.js";
import { StatusWrites } from "./status-writes.js";
import type { JobKind, PayloadStore, QueueName } from "./types.js";
import { DeliveryQueue } from "./webhooks/delivery-queue.js";

/** Longest pause of a worker after a failed read of its queue: it must resume soon after Redis does. */
const RESUME_MS = 1_000;

export interface JobWorkersOptions {
  /** As for `createJobClient`. */
  readonly redis: string;
  /** What this process works on: the queue of each, and with `maintain` the deliveries to webhooks. */
  readonly roles: readonly JobKind[];
  /** Exactly one for each job name of these queues. */
  readonly handlers: readonly NamedHandler[];
  readonly payloadStore: PayloadStore;
  readonly clock: Clock;
  /** Jobs at once by queue; what is absent is as in the settings. */
  readonly concurrency?: Readonly<Partial<Record<QueueName, number>>>;
  readonly settings?: Partial<JobSettings>;
  /** Hears of every run that ended. Must not throw. */
  readonly onRun?: (report: RunReport) => void;
  /** Hears that a queue was looked at: what a worker that lives does every few seconds when there is nothing to do. */
  readonly onTurn?: (queue: QueueName) => void;
  /** Hears of trouble that is no job's: a lost connection, a lock that could not be renewed. */
  readonly onError?: (error: Error) => void;
}

/** A worker that handed a job on asks for none for so long: the one that was woken asks within a round trip or two. */
const SIT_OUT_MS = 25;
const SIT_OUT_EVERY_MS = 10 * SIT_OUT_MS;

/** How long the parts of a stop may take. */
export interface StopLimits {
  readonly drainMs: number;
  readonly giveBackMs: number;
}

export interface JobWorkers {
  /** Resolves when every queue is being read. */
  ready(): Promise<void>;
  /** Jobs that run now. */
  active(): number;
  /**
   * Takes no more jobs, waits up to `drainMs` for those that run, then aborts their signals and gives them back to their
   * queues, for which it takes up to `giveBackMs`. Closes the connections. What could not be given back by then (Redis is
   * away) is left to the stalled check.
   */
  close(limits: StopLimits): Promise<void>;
}

/**
 * Starts working on the queues of some roles: one BullMQ worker each, three connections shared by all plus a blocking one
 * per queue.
 * @throws Error at once if a job name of the roles has no handler, or two
 */
export function startJobWorkers(options: JobWorkersOptions): JobWorkers {
  const handlers = checkHandlers(options.roles, options.handlers);
  const settings = { ...JOB_SETTINGS, ...options.settings };
  const keys = jobKeys(settings.prefix);
  const redis = connectRedis(options.redis, "worker");
  // A place that is given up is not given up again: Redis can have lost with it, in a crash, that its job has ended.
  const lanes = connectRedis(options.redis, "producer", { commandTimeout: settings.callTimeoutMs });
  const control = connectRedis(options.redis, "subscriber");
  const running = new Map<string, AbortController>();
  const writes = new StatusWrites({ redis, keys, settings, cluster: isCluster(options.redis) });
  const shared = {
    redis,
    writes,
    keys,
    settings,
    clock: options.clock,
    payloadStore: options.payloadStore,
    handlers,
    running,
  };
  const lastRun = new LastRun(settings.lastRun);
  const report = options.onRun ?? ignore;
  const concurrencyOf = (kind: QueueName): number => options.concurrency?.[kind] ?? settings.queues[kind].concurrency;
  const admission = new Admission({ redis: lanes, keys, settings });
  const deliveries = new DeliveryQueue(redis, settings);
  const notify = (tenant: string, webhooks: readonly string[]): void => {
    deliveries.tellSoon(tenant, webhooks, options.clock.now());
  };
  const workers = queuesOf(options.roles).map((kind) => {
    // An end that does not get through is noticed by a sweep. What nobody submitted has no lane.
    const leave = (token: string): void => void (isJobKind(kind) && admission.finish(kind, token).catch(ignore));
    return openWorker({ ...shared, kind, lastRun, report, leave, notify }, concurrencyOf(kind));
  });
  const name = crypto.randomUUID();
  const tend = async (): Promise<void> => {
    await Promise.all(options.roles.map((kind) => admission.register(name, kind, concurrencyOf(kind))));
    await admission.sweep();
  };
  const sweeper = new Sweeper(() => bounded(lanes, settings, tend), settings.sweepMs);
  for (const worker of workers) {
    worker.on("error", options.onError ?? ignore);
    worker.onTurn = options.onTurn ?? ignore;
  }
  control.on("message", (_channel, token: string) => {
    const controller = running.get(token);
    if (controller !== undefined) stopRun(controller, "cancelled");
  });
  control.subscribe(keys.control).catch(ignore);
  return {
    ready: async () => {
      await Promise.all(workers.map((worker) => worker.waitUntilReady()));
    },
    active: () => running.size,
    close: async (limits) => {
      sweeper.stop();
      await closeWorkers({ workers, running, connections: [redis, lanes, control] }, limits);
    },
  };
}

function openWorker(queueDeps: Omit<RunDeps, "sitOut">, concurrency: number): StatusWorker {
  const deps: RunDeps = {
    ...queueDeps,
    sitOut: () => worker.sitOut(),
  };
  const queue = deps.settings.queues[deps.kind];
  const worker = new StatusWorker(deps.kind, (job: Job<JobData>, token?: string) => runJob(deps, job, token ?? ""), {
    connection: deps.redis,
    prefix: deps.keys.queuePrefix(deps.kind),
    // BullMQ reads the version: only a Redis that it knows to be new enough is asked to wait for less than a second.
    concurrency,
    lockDuration: queue.lockMs,
    stalledInterval: queue.stalledIntervalMs,
    maxStalledCount: queue.maxStalledCount,
    runRetryDelay: RESUME_MS,
    removeOnComplete: QUEUE_RETENTION.completed,
    removeOnFail: QUEUE_RETENTION.failed,
    settings: {
      backoffStrategy: (failedAttempts, _type, error) =>
        retryDelayMs(queue, error instanceof EspalierError ? error.code : undefined, failedAttempts, Math.random()),
    },
  });
  worker.buryStalled = async (job, reason) => {
    const status = statusOf(deps, job);
    const message = `The job was taken over ${queue.maxStalledCount} times from workers that died or hung, and is given up.`;
    const error = new EspalierError("internal", message, { details: { reason } });
    await buryJob(deps, status, job, error);
    deps.leave(queueJobId(job.data.tenant, job.data.id));
    const { tenant, id, createdAt } = job.data;
    const waitMs = Math.max(0, deps.clock.now() - createdAt);
    deps.report({
      ...{ kind: deps.kind, name: job.name, tenant, id, attempt: job.attemptsStarted },
      ...{ outcome: "dead", waitMs, runMs: 0, error },
    });
  };
  worker.on("lockRenewalFailed", (ids: string[]) => {
    for (const id of ids) {
      const controller = deps.running.get(id);
      if (controller !== undefined) stopRun(controller, "lock_lost");
    }
  });
  return worker;
}

/** Tells our status of a job that BullMQ fails without running it, before BullMQ closes it; tells of its turns. */
class StatusWorker extends Worker<JobData> {
  buryStalled: (job: Job<JobData>, reason: string) => Promise<void> = () => Promise.resolve();
  onTurn: (queue: QueueName) => void = ignore;
  #satOutAt = -Infinity;

  /** The next turns wait, so that another worker is the first to have one; a tenth of the time at most, or it answers false. */
  sitOut(): boolean {
    const now = performance.now();
    if (now < this.#satOutAt + SIT_OUT_EVERY_MS) return false;
    this.#satOutAt = now;
    return true;
  }

  protected override async moveToActive(
    ...request: Parameters<Worker<JobData>["moveToActive"]>
  ): ReturnType<Worker<JobData>["moveToActive"]> {
    const leftMs = this.#sittingOutMs();
    if (leftMs > 0) await pause(leftMs);
    const job = await super.moveToActive(...request);
    this.onTurn(this.name as QueueName);
    return job;
  }

  /** Stops renewing the locks of handlers that do not end: the stalled check of another worker takes their jobs over. */
  async abandon(): Promise<void> {
    await this.lockManager.close();
    await this.getBackend().close(true);
  }

  protected override handleCompleted(
    ...[result, job, token, fetchNext, ...rest]: Parameters<Worker<JobData>["handleCompleted"]>
  ): ReturnType<Worker<JobData>["handleCompleted"]> {
    return super.handleCompleted(result, job, token, this.#inTurn(fetchNext), ...rest);
  }

  protected override async handleFailed(
    ...[error, job, token, fetchNext, ...rest]: Parameters<Worker<JobData>["handleFailed"]>
  ): ReturnType<Worker<JobData>["handleFailed"]> {
    if (job.deferredFailure && error instanceof UnrecoverableError) {
      await this.buryStalled(job, job.deferredFailure);
    }
    return super.handleFailed(error, job, token, this.#inTurn(fetchNext), ...rest);
  }

  /** The end of a job brings the next one along; not to a worker that sits out: it then asks, and waits. */
  #inTurn(fetchNext: () => boolean = () => true): () => boolean {
    return () => this.#sittingOutMs() <= 0 && fetchNext();
  }

  /** How long it still sits out; 0 or less: it does not. */
  #sittingOutMs(): number {
    return this.#satOutAt + SIT_OUT_MS - performance.now();
  }
}

interface Closing {
  readonly workers: readonly StatusWorker[];
  readonly running: ReadonlyMap<string, AbortController>;
  readonly connections: readonly Redis[];
}

async function closeWorkers(
  { workers, running, connections }: Closing,
  { drainMs, giveBackMs }: StopLimits,
): Promise<void> {
  const drained = Promise.all(workers.map((worker) => worker.close()));
  if (!(await within(drained, drainMs))) {
    for (const controller of running.values()) stopRun(controller, "shutdown", giveBackMs / 2);
    if (!(await within(drained, giveBackMs))) {
      await Promise.all(workers.map((worker) => worker.abandon()));
    }
  }
  for (const redis of connections) redis.disconnect();
}

/** True if the promise settled in time. */
async function within(promise: Promise<unknown>, milliseconds: number): Promise<boolean> {
  const { promise: late, resolve } = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => {
    resolve(false);
  }, milliseconds);
  try {
    return await Promise.race([promise.then(() => true), late]);
  } finally {
    clearTimeout(timer);
  }
}

function ignore(): void {
  // Nobody asked to hear of it.
}
