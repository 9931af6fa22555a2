import type { ErrorCode } from "#core";
import { LIMITS, RETENTION_SECONDS } from "#core";
import { backOffMs } from "./back-off.js";
import { PAYLOAD_UPGRADES, type PayloadUpgrades } from "./payload-upgrades.js";
import type { LaneName, LaneSettings } from "./admission/lane.js";
import type { QueueName } from "./types.js";

/** How one queue runs. All times are milliseconds. */
export interface QueueSettings {
  /** How long a worker owns a job without renewing; a dead worker's job is taken over after it. */
  readonly lockMs: number;
  readonly stalledIntervalMs: number;
  /** Take-overs of a job before it is `dead`: a job that kills its worker must not run for ever. */
  readonly maxStalledCount: number;
  /** Runs that may fail with a retryable error, the first included. */
  readonly attempts: number;
  /**
   * Whether `internal`, the code of every unknown throw, is tried again. An effect deserves another try; a read has none,
   * and the one who waits for it is told at once.
   */
  readonly retriesInternal: boolean;
  /** First delay of the exponential back-off; half of each delay is random. */
  readonly retryBaseMs: number;
  /** Jobs at once in one worker process. */
  readonly concurrency: number;
  /**
   * When the state `active` is written. `before`: ahead of the handler, so that a cancelled job or a newer attempt never
   * has an effect. `late`: only for a run that lasts (reads have no effect to guard, and most end sooner).
   */
  readonly announce: "before" | "late";
}

/** Jobs of texts that are embedded. */
const SCORE: QueueSettings = {
  lockMs: 60_000,
  stalledIntervalMs: 15_000,
  maxStalledCount: 3,
  attempts: 5,
  retriesInternal: true,
  retryBaseMs: 2_000,
  // Two to three times the largest batch of the local model (32).
  concurrency: 64,
  announce: "before",
};

/** The settings of every queue (jobs page, "Versions and settings to start from"). */
export const QUEUE_SETTINGS: Readonly<Record<QueueName, QueueSettings>> = {
  query: {
    lockMs: 30_000,
    stalledIntervalMs: 10_000,
    maxStalledCount: 2,
    attempts: 5,
    retriesInternal: false,
    // Somebody waits: five tries fit well into the 30 s that a read waits.
    retryBaseMs: 250,
    concurrency: 50,
    announce: "late",
  },
  insert: {
    lockMs: 30_000,
    stalledIntervalMs: 10_000,
    maxStalledCount: 2,
    attempts: 5,
    retriesInternal: true,
    retryBaseMs: 1_000,
    concurrency: 50,
    announce: "before",
  },
  score: SCORE,
  // Claims: as the jobs beside which they run, but for the slots, which are few: a claim is a batch already.
  rows: { ...SCORE, concurrency: LIMITS.modelRequestsInFlight },
  maintain: {
    lockMs: 30_000,
    stalledIntervalMs: 10_000,
    maxStalledCount: 2,
    attempts: 5,
    retriesInternal: true,
    retryBaseMs: 2_000,
    concurrency: 50,
    announce: "before",
  },
  // A job looks after one webhook; when its deliveries are tried again is theirs to say (WEBHOOKS).
  deliver: {
    lockMs: 30_000,
    stalledIntervalMs: 10_000,
    maxStalledCount: 2,
    attempts: 5,
    retriesInternal: true,
    retryBaseMs: 1_000,
    concurrency: 50,
    announce: "before",
  },
};

/** How deliveries to webhooks are tried. All times are milliseconds. */
export interface WebhookSettings {
  /** Requests for one delivery at most, the first included: with the pauses between them they last about a day. */
  readonly attempts: number;
  /** First delay of the exponential back-off of a delivery, and its longest; half of each is random. */
  readonly retryBaseMs: number;
  readonly retryMaxMs: number;
  /** First and longest rest of a webhook whose last request failed, for all of its deliveries. */
  readonly restBaseMs: number;
  readonly restMaxMs: number;
  /** A webhook that has failed for so long, without a success between, is disabled. */
  readonly disableAfterMs: number;
  /** One request, from the look-up of its host to the end of the answer. */
  readonly requestMs: number;
  /** How long a job goes on with one webhook before others have their turn. */
  readonly turnMs: number;
  /** How often all webhooks are looked through for deliveries whose process died before it could tell of them. */
  readonly auditMs: number;
}

const WEBHOOKS: WebhookSettings = {
  attempts: 14,
  retryBaseMs: 10_000,
  retryMaxMs: 6 * 3_600_000,
  restBaseMs: 1_000,
  restMaxMs: 60_000,
  disableAfterMs: 3 * 86_400_000,
  requestMs: 15_000,
  turnMs: 20_000,
  auditMs: 60_000,
};

/**
 * First delays of errors that want another pace than their queue's. Whether an error is retried at all is `retryable` in
 * the registry of errors, and for `internal` also `retriesInternal` of the queue.
 */
export const RETRY_BASE_MS: Readonly<Partial<Record<ErrorCode, number>>> = {
  // Another writer won: the memory is free again within milliseconds.
  revision_conflict: 50,
  // The server asked for less load.
  model_overloaded: 2_000,
};

/** The longest delay between two attempts. */
export const RETRY_MAX_MS = 60_000;

/** Admission. The window is twice what one worker runs at once; it grows with the workers that tell of themselves. */
const LANE: LaneSettings = {
  window: 100,
  tenantInFlight: 1_000,
  quantum: 1_000,
  tenantJobs: 10_000,
  tenantBytes: 64 * 1024 * 1024,
  releases: 500,
  submits: 100,
  resendMs: 5_000,
  lostMs: 15_000,
  sweepJobs: 200,
};

/** The settings of both lanes; a query is small, so its turns are. */
const LANE_SETTINGS: Readonly<Record<LaneName, LaneSettings>> = {
  interactive: { ...LANE, quantum: 100 },
  batch: LANE,
};

/** Bounds and paces of the status store, the waiters and the connections. All times are milliseconds. */
export interface JobSettings {
  /** Prefix of every key. */
  readonly prefix: string;
  /** One call of a producer; then the answer is `queue_unavailable`. */
  readonly callTimeoutMs: number;
  /** How long a producer waits for a connection that is just being made again. */
  readonly connectGraceMs: number;
  /** Pace of the waiters' fallback when a wake-up was lost. */
  readonly pollMs: number;
  /** Progress is written at most so often. */
  readonly progressMs: number;
  /** A `late` run that lasts longer is announced as `active`. */
  readonly announceAfterMs: number;
  /** Events kept per job (approximately). */
  readonly eventsPerJob: number;
  /** Jobs kept in a tenant's list; the oldest leave it first. */
  readonly jobsPerTenant: number;
  /** Processes that are woken about one job; more of them poll. */
  readonly watchersPerJob: number;
  /** Bytes of a result that travels inside the wake-up; a larger one is read from the hash. */
  readonly wakeBytes: number;
  /** How long an ended job's status and result live; a job with an idempotency key lives as long as the key. */
  readonly keepMs: number;
  /** The same for `failed`. */
  readonly keepFailedMs: number;
  /** The same for `dead`: somebody has to look at it. */
  readonly keepDeadMs: number;
  /** Bytes of a tenant's ended jobs, results included, of which the oldest leave first whatever their time; the same for failed ones. */
  readonly keptBytes: number;
  readonly keptFailedBytes: number;
  /** Dead letters kept per tenant; the oldest leave first. */
  readonly lettersPerTenant: number;
  /** How long a job that never ends is remembered. */
  readonly keepQueuedMs: number;
  readonly idempotencyMs: number;
  /** Pace at which a process makes up for others that died between two steps of admission. */
  readonly sweepMs: number;
  /**
   * A job's last run begins when no other was refused one for `quietMs`. Those that were stay away for `awayMs` if the process
   * dies that is to call them up.
   */
  readonly lastRun: { readonly quietMs: number; readonly awayMs: number };
  readonly lanes: Readonly<Record<LaneName, LaneSettings>>;
  readonly webhooks: WebhookSettings;
  /** How payloads of older releases are read. */
  readonly upgrades: PayloadUpgrades;
  /** Settings of each queue. */
  readonly queues: Readonly<Record<QueueName, QueueSettings>>;
}

/** What runs when nothing else is asked for; tests shorten the times. */
export const JOB_SETTINGS: JobSettings = {
  prefix: "espalier",
  callTimeoutMs: 3_000,
  connectGraceMs: 500,
  pollMs: 1_000,
  progressMs: 250,
  announceAfterMs: 50,
  eventsPerJob: 500,
  jobsPerTenant: 10_000,
  watchersPerJob: 16,
  wakeBytes: 64 * 1024,
  keepMs: RETENTION_SECONDS.job * 1_000,
  keepFailedMs: RETENTION_SECONDS.failedJob * 1_000,
  keepDeadMs: RETENTION_SECONDS.deadLetter * 1_000,
  keptBytes: LIMITS.endedJobsBytes,
  keptFailedBytes: LIMITS.failedJobsBytes,
  lettersPerTenant: 10_000,
  keepQueuedMs: 2 * RETENTION_SECONDS.failedJob * 1_000,
  idempotencyMs: RETENTION_SECONDS.idempotency * 1_000,
  sweepMs: 2_000,
  lastRun: { quietMs: 500, awayMs: 15_000 },
  lanes: LANE_SETTINGS,
  webhooks: WEBHOOKS,
  upgrades: PAYLOAD_UPGRADES,
  queues: QUEUE_SETTINGS,
};

/** How long a job is kept that ended so, and how many bytes of such jobs of a tenant are. */
export function keepEnded(
  settings: JobSettings,
  state: "completed" | "cancelled" | "failed" | "dead",
): { readonly ms: number; readonly bytes: number } {
  const { keepMs, keepFailedMs, keepDeadMs, keptBytes, keptFailedBytes } = settings;
  if (state === "dead") return { ms: keepDeadMs, bytes: keptFailedBytes };
  if (state === "failed") return { ms: keepFailedMs, bytes: keptFailedBytes };
  return { ms: keepMs, bytes: keptBytes };
}

/**
 * What BullMQ itself keeps of ended jobs, payloads included, whose ever they are. Of completed ones nothing: their status has
 * what anybody asks for (ADR 158). Failed ones are for people who look into the queues.
 */
export const QUEUE_RETENTION = {
  completed: { count: 0 },
  failed: { age: RETENTION_SECONDS.failedJob, count: 1_000 },
  /** Length of BullMQ's own event stream of a queue. */
  events: 2_000,
} as const;

/**
 * Delay before the next attempt of a job: by the attempts that failed, and by what the last of them failed of.
 * @param random in [0, 1)
 */
export function retryDelayMs(
  queue: QueueSettings,
  code: ErrorCode | undefined,
  failedAttempts: number,
  random: number,
): number {
  const baseMs = (code === undefined ? undefined : RETRY_BASE_MS[code]) ?? queue.retryBaseMs;
  return backOffMs({ baseMs, maxMs: RETRY_MAX_MS }, failedAttempts, random);
}
