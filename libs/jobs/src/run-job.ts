import { DelayedError, UnrecoverableError, WaitingError, type Job } from "bullmq";
import { EspalierError, toEspalierError } from "#core";
import type { JobData } from "./job-data.js";
import { countDead, listLetter } from "./dead-letters.js";
import { Held } from "./held/held.js";
import { isJobKind } from "./job-names.js";
import { AttemptStatus, type RunStatus, type RunTally, type StatusDeps } from "./job-status.js";
import { blobKey, queueJobId } from "./keys.js";
import type { LastRun } from "./last-run.js";
import { NO_STATUS } from "./no-status.js";
import { payloadVersion, upgradePayload } from "./payload-upgrades.js";
import { retryDelayMs } from "./settings.js";
import type { JobError, JobHandler, QueueName } from "./types.js";

/**
 * One run of a job:
 * 1. Announce it as `active` (ahead of the handler where it can have an effect; later, or never, for a read).
 * 2. Run the handler with a signal, writing progress at a bounded pace.
 * 3. Write the end into the status hash, which wakes the waiters, and only then let BullMQ close the job: a crash between
 *    the two runs the job once more, and step 1 finds it ended.
 */

/** Why a run's signal was aborted. */
export type StopReason = "cancelled" | "shutdown" | "lock_lost";

/**
 * What became of a run. `held`: over, and its job goes on without it. `requeued`: given back, by a stopping worker, or for
 * later or another worker. `skipped`: it had ended, or a later attempt has it.
 */
export type RunOutcome = "completed" | "held" | "failed" | "dead" | "cancelled" | "retried" | "requeued" | "skipped";

/** How long a job of a newer release stays away that nobody could take. */
const GIVEN_BACK_MS = 1_000;

/** Outcomes after which the job never runs again. A skipped one is ended by whoever has it. */
const ENDS: ReadonlySet<RunOutcome> = new Set(["completed", "failed", "dead", "cancelled"]);

/** A finished run, for metrics and logs. */
export interface RunReport {
  readonly kind: QueueName;
  readonly name: string;
  readonly tenant: string;
  readonly id: string;
  readonly attempt: number;
  readonly outcome: RunOutcome;
  /** From submit to the start of this run. */
  readonly waitMs: number;
  readonly runMs: number;
  readonly error?: EspalierError;
}

export interface RunDeps extends StatusDeps {
  readonly kind: QueueName;
  readonly handlers: ReadonlyMap<string, JobHandler>;
  /** Signals of the jobs that run in this process, by queue job id. */
  readonly running: Map<string, AbortController>;
  /** One for all queues of this process. */
  readonly lastRun: LastRun;
  readonly report: (report: RunReport) => void;
  /** Asks the queue for no job until another worker could take one. False: it did so a moment ago, and goes on. */
  readonly sitOut: () => boolean;
  /** The job has ended: its place in the lane is free. */
  readonly leave: (token: string) => void;
}

/** A run that is stopped from outside never reaches its handler's result. */
class Stopped extends Error {
  constructor(
    readonly reason: StopReason,
    /** How long a handler may take to obey at a shutdown. */
    readonly graceMs: number,
  ) {
    super(`The run was stopped: ${reason}.`);
    this.name = "Stopped";
  }
}

/** Aborts a run. The handler's signal carries the reason. */
export function stopRun(controller: AbortController, reason: StopReason, graceMs = 0): void {
  controller.abort(new Stopped(reason, graceMs));
}

/** Runs a job to an end that BullMQ understands: returns, or throws what makes BullMQ retry, fail or give back. */
export async function runJob(deps: RunDeps, job: Job<JobData>, token: string): Promise<void> {
  if (!isReadable(deps, job)) return passOn(deps, job, token);
  if (job.stalledCounter < deps.settings.queues[deps.kind].maxStalledCount) return runNow(deps, job, token);
  if (!deps.lastRun.begin()) {
    await deps.lastRun.refuse(job, token, deps.clock.now());
    return requeued(deps, job, new DelayedError());
  }
  try {
    await deps.lastRun.alone();
    await runNow(deps, job, token);
  } finally {
    deps.lastRun.end();
  }
}

/** Whether this release knows the payload's version: a newer release may have submitted it. */
function isReadable({ settings }: RunDeps, job: Job<JobData>): boolean {
  return versionOf(job.data) <= payloadVersion(settings.upgrades, job.name);
}

const versionOf = (data: JobData): number => data.version ?? 1;

/**
 * Not here: hands the job on, without an attempt, which wakes the worker that has waited longest, and lets that one go first.
 * One that comes soon after another stays away for a moment: however many there are, a worker has time for what it can read.
 * To put all of them away is not enough: all who wait wake in the moment in which one is due, and Redis serves the same one
 * first each time.
 */
async function passOn(deps: RunDeps, job: Job<JobData>, token: string): Promise<never> {
  if (!deps.sitOut()) {
    await job.moveToDelayed(deps.clock.now() + GIVEN_BACK_MS, token);
    return requeued(deps, job, new DelayedError());
  }
  await job.moveToWait(token);
  return requeued(deps, job, new WaitingError());
}

/** @throws what tells BullMQ that the job is not here any more */
function requeued(deps: RunDeps, job: Job<JobData>, gone: DelayedError | WaitingError): never {
  const { tenant, id, createdAt } = job.data;
  deps.report({
    ...{ kind: deps.kind, name: job.name, tenant, id, attempt: job.attemptsStarted, outcome: "requeued" },
    ...{ waitMs: Math.max(0, deps.clock.now() - createdAt), runMs: 0 },
  });
  throw gone;
}

async function runNow(deps: RunDeps, job: Job<JobData>, token: string): Promise<void> {
  const attempt = job.attemptsStarted;
  const status = statusOf(deps, job);
  const controller = new AbortController();
  const key = queueJobId(job.data.tenant, job.data.id);
  const startedAt = deps.clock.now();
  const end = (outcome: RunOutcome, error?: EspalierError): void => {
    deps.report({
      ...{ kind: deps.kind, name: job.name, tenant: job.data.tenant, id: job.data.id, attempt, outcome },
      ...{ waitMs: Math.max(0, startedAt - job.data.createdAt), runMs: deps.clock.now() - startedAt },
      ...(error !== undefined && { error }),
    });
  };
  deps.running.set(key, controller);
  try {
    const { value, tally } = await handleJob(deps, job, status, controller);
    const [outcome, accepted] =
      value instanceof Held
        ? (["held", await status.hold(value.result, tally)] as const)
        : (["completed", await status.finish({ state: "completed", result: value }, tally)] as const);
    if (accepted) deps.leave(key);
    end(accepted ? outcome : "skipped");
  } catch (thrown) {
    const ending = await endThrown({ deps, job, token, status, thrown, signal: controller.signal });
    if (ENDS.has(ending.outcome)) deps.leave(key);
    end(ending.outcome, ending.error);
    if (ending.rethrow !== undefined) throw ending.rethrow;
  } finally {
    if (deps.running.get(key) === controller) deps.running.delete(key);
  }
}

/** The status of a job's attempt; a job of the deployment has none. */
export function statusOf(deps: RunDeps, job: Job<JobData>): RunStatus {
  return isJobKind(deps.kind) ? new AttemptStatus(deps, deps.kind, job.data, job.attemptsStarted) : NO_STATUS;
}

interface HandledJob {
  readonly value: unknown;
  readonly tally: RunTally;
}

/** The run was not needed: the job has ended, or a later attempt has it. */
class NothingToDo extends Error {}

async function handleJob(
  deps: RunDeps,
  job: Job<JobData>,
  status: RunStatus,
  controller: AbortController,
): Promise<HandledJob> {
  const { settings, kind } = deps;
  const signal = controller.signal;
  const announce = async (): Promise<void> => {
    const answer = await status.start();
    if (answer === "cancel") stopRun(controller, "cancelled");
    else if (answer !== "run") controller.abort(new NothingToDo());
    signal.throwIfAborted();
  };
  const late = settings.queues[kind].announce === "late" && job.attemptsStarted === 1;
  if (!late) await announce();
  let stored: RunTally["stored"] = { nodes: 0, bytes: 0 };
  const progress = new ProgressWriter(settings.progressMs, async (done, total) => {
    if (await status.progress(done, total)) stopRun(controller, "cancelled");
  });
  let announced: Promise<void> | undefined;
  const announceSoon = (): void => {
    announced = announce().catch(ignore);
  };
  const announcing = late ? setTimeout(announceSoon, settings.announceAfterMs) : undefined;
  try {
    const handler = deps.handlers.get(job.name);
    if (handler === undefined) throw new EspalierError("unknown_job_kind", `No handler for the job ${job.name}.`);
    const older = await readPayload(deps, job.data);
    const payload = upgradePayload(settings.upgrades, job.name, older, versionOf(job.data));
    const run = handler(payload, {
      ...{ id: job.data.id, tenant: job.data.tenant, memory: job.data.memory, createdAt: job.data.createdAt },
      effectId: job.data.origin ?? job.data.id,
      ...{ attempt: job.attemptsStarted, takenOver: job.stalledCounter, signal },
      progress: (done, total) => {
        progress.set(done, total);
      },
      stored: (counts) => {
        stored = counts;
      },
    });
    const value = await orShutdown(run, signal);
    return { value, tally: { progress: progress.last, stored } };
  } finally {
    clearTimeout(announcing);
    // What is still on its way must not land after the end.
    await announced;
    await progress.close();
  }
}

/**
 * A handler that does not obey its signal in time at a shutdown is left behind: its process ends, its effects happen once
 * by the inbox, and its job can run elsewhere at once. A cancelled one is waited for: what it did must be told.
 */
async function orShutdown<T>(run: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: left, reject } = Promise.withResolvers<never>();
  let timer: NodeJS.Timeout | undefined;
  const leave = (): void => {
    const reason: unknown = signal.reason;
    if (!(reason instanceof Stopped) || reason.reason !== "shutdown") return;
    timer = setTimeout(() => {
      reject(reason);
    }, reason.graceMs);
  };
  signal.addEventListener("abort", leave, { once: true });
  try {
    return await Promise.race([run, left]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", leave);
  }
}

async function readPayload(deps: RunDeps, data: JobData): Promise<unknown> {
  if (data.payload !== undefined) return data.payload;
  const bytes = await deps.payloadStore.get(data.tenant, blobKey(data.id, "payload"));
  if (bytes === undefined) throw new EspalierError("internal", "The payload of the job is not there any more.");
  return JSON.parse(Buffer.from(bytes).toString("utf8")) as unknown;
}

interface Thrown {
  readonly deps: RunDeps;
  readonly job: Job<JobData>;
  readonly token: string;
  readonly status: RunStatus;
  readonly thrown: unknown;
  readonly signal: AbortSignal;
}

interface ThrownEnding {
  readonly outcome: RunOutcome;
  readonly error?: EspalierError;
  /** What BullMQ must see; absent: it closes the job. */
  readonly rethrow?: Error;
}

async function endThrown({ deps, job, token, status, thrown, signal }: Thrown): Promise<ThrownEnding> {
  const reason: unknown = signal.reason;
  if (reason instanceof NothingToDo) return { outcome: "skipped" };
  if (reason instanceof Stopped) {
    switch (reason.reason) {
      case "cancelled":
        return endCancelled(status);
      case "shutdown":
        if (!(await status.retry())) return endCancelled(status);
        await job.moveToWait(token);
        return { outcome: "requeued", rethrow: new WaitingError() };
      case "lock_lost":
        return { outcome: "skipped", rethrow: reason };
    }
  }
  const error = toEspalierError(thrown);
  const { attempts, retriesInternal } = deps.settings.queues[deps.kind];
  if (!error.kind.retryable || (error.code === "internal" && !retriesInternal)) {
    await status.finish({ state: "failed", error: jobErrorOf(error) });
    return { outcome: "failed", error, rethrow: new UnrecoverableError(error.code) };
  }
  // The server asked for less load, which is no failure: it is waited for, unless somebody waits for the answer.
  if (error.code === "model_overloaded" && deps.kind !== "query") return yieldTo(error, { deps, job, token, status });
  if (job.attemptsMade + 1 < attempts) {
    // The message that cancelled the job may come later than its failure.
    if (!(await status.retry(jobErrorOf(error)))) return endCancelled(status);
    return { outcome: "retried", error, rethrow: error };
  }
  await buryJob(deps, status, job, error);
  return { outcome: "dead", error, rethrow: error };
}

async function yieldTo(
  error: EspalierError,
  { deps, job, token, status }: Pick<Thrown, "deps" | "job" | "token" | "status">,
): Promise<ThrownEnding> {
  if (!(await status.retry(jobErrorOf(error)))) return endCancelled(status);
  const pauseMs = retryDelayMs(deps.settings.queues[deps.kind], error.code, job.attemptsStarted, Math.random());
  await job.moveToDelayed(deps.clock.now() + pauseMs, token);
  return { outcome: "retried", error, rethrow: new DelayedError() };
}

async function endCancelled(status: RunStatus): Promise<ThrownEnding> {
  const error = new EspalierError("cancelled", "The job was cancelled.");
  await status.finish({ state: "cancelled", error: jobErrorOf(error) });
  return { outcome: "cancelled", error };
}

/** Ends a job for good, and counts it among the dead of its queue; what is nobody's is not missed. */
export async function buryJob(
  deps: RunDeps,
  status: RunStatus,
  job: Job<JobData>,
  error: EspalierError,
): Promise<void> {
  if (!isJobKind(deps.kind)) return;
  const { tenant, id } = job.data;
  const dead = { kind: deps.kind, tenant, id, diedAt: deps.clock.now() };
  await listLetter(deps.redis, deps.settings, dead);
  await status.finish({ state: "dead", error: jobErrorOf(error) });
  await countDead(deps.redis, deps.settings, dead);
}

function jobErrorOf(error: EspalierError): JobError {
  return { code: error.code, message: error.message, details: error.details };
}

/** Writes the newest progress at most once per pace; none at all for a job that ends before. */
class ProgressWriter {
  last = { done: 0, total: 0 };
  readonly #paceMs: number;
  readonly #write: (done: number, total: number) => Promise<void>;
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();

  constructor(paceMs: number, write: (done: number, total: number) => Promise<void>) {
    this.#paceMs = paceMs;
    this.#write = write;
  }

  set(done: number, total: number): void {
    this.last = { done, total };
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      // A lost write of progress is repeated by the next, or by the end.
      this.#writing = this.#writing.then(() => this.#write(this.last.done, this.last.total)).catch(ignore);
    }, this.#paceMs);
  }

  /** Waits for a write under way, so that it cannot land after the end. */
  async close(): Promise<void> {
    clearTimeout(this.#timer);
    await this.#writing;
  }
}

function ignore(): void {
  // Said where it is used.
}
