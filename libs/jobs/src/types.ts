import type { ErrorCode } from "#core";

/** What a job does. */
export type JobKind = "query" | "insert" | "score" | "maintain";

/** One queue per kind of job, and one each for what the deployment itself does: rows of the outbox, and webhooks. */
export type QueueName = JobKind | "rows" | "deliver";

/** `queued` also between attempts; `failed`: not retryable; `dead`: attempts spent. */
export type JobState = "queued" | "active" | "completed" | "failed" | "dead" | "cancelled";

/** The problem a job ended with: what the waiting request answers. */
export interface JobError {
  readonly code: ErrorCode;
  readonly message: string;
  readonly details: Readonly<Record<string, unknown>>;
}

/** A job as its status hash tells it. Times are milliseconds since the epoch. */
export interface JobRecord {
  readonly id: string;
  readonly tenant: string;
  readonly memory: string;
  readonly kind: JobKind;
  readonly state: JobState;
  readonly progress: { readonly done: number; readonly total: number };
  readonly createdAt: number;
  /** Of the latest run. */
  readonly startedAt?: number;
  readonly finishedAt?: number;
  readonly attempts: number;
  /** JSON; only when `completed`. */
  readonly result?: unknown;
  /** Only when `failed`, `dead` or `cancelled`. */
  readonly error?: JobError;
  /** The error of the first attempt that failed, of a job that was tried again. */
  readonly firstError?: JobError;
  /** The job whose work this one does again. */
  readonly replayOf?: string;
  /** The job that does the work of this one again. */
  readonly replayedAs?: string;
}

/** Which dead letters a read or a replay is about. */
export interface DeadLetterFilter {
  readonly memory?: string;
  readonly kind?: JobKind;
}

/** One entry of a job's bounded event stream. `id` is what `Last-Event-ID` names. */
export interface JobEvent {
  readonly id: string;
  readonly type: "state" | "progress";
  readonly record: JobRecord;
}

export interface SubmitRequest {
  readonly kind: JobKind;
  readonly tenant: string;
  readonly memory: string;
  /** Validated already; JSON, or a `SerializedPayload`. Kept by reference over LIMITS.payloadBytes. */
  readonly payload: unknown;
  /** Same key and fingerprint: the same job; another fingerprint: `idempotency_conflict`. 24 h. */
  readonly idempotency?: { readonly key: string; readonly fingerprint: string };
  /** Throws what the job is to be refused with. Asked of a job that there is not yet; nothing of a refused one is left. */
  readonly check?: () => Promise<void>;
}

/**
 * What the API needs of jobs. Every method is bounded by a time-out of its own; a Redis that is down answers
 * `queue_unavailable`. Another tenant's job is `job_not_found`.
 */
export interface JobClient {
  /** Acknowledged = durable: the job runs even if this process dies right after. */
  submit(request: SubmitRequest): Promise<JobRecord>;
  /** Submits and waits up to `waitMs` for the end (the waiter registers before the job is added). Fast path of queries. */
  submitAndWait(request: SubmitRequest, waitMs: number, signal?: AbortSignal): Promise<JobRecord>;
  get(tenant: string, id: string): Promise<JobRecord>;
  /** Newest first. */
  list(
    tenant: string,
    query: {
      readonly memory?: string;
      /** Any of these. */
      readonly states?: readonly JobState[];
      readonly kind?: JobKind;
      /** Made at that time or later; milliseconds since the epoch. */
      readonly createdFrom?: number;
      /** Made before that time. */
      readonly createdBefore?: number;
      readonly limit: number;
      readonly after?: string;
    },
  ): Promise<readonly JobRecord[]>;
  /** Queued: at once; active: the signal reaches the handler. Cancelling a cancelled job is a no-op; another ended one is `job_finished`. */
  cancel(tenant: string, id: string): Promise<JobRecord>;
  /**
   * Does the work of a `failed` or `dead` job again, as a new job at the end of its lane. The effects count as the first
   * job's, so that what had happened already does not happen twice. A second call answers the same new job; a job that did
   * not fail is `job_not_failed`.
   */
  replay(tenant: string, id: string): Promise<JobRecord>;
  /** Jobs that were given up and not replayed, the latest first. `after` is the id of the last one of the page before. */
  deadLetters(
    tenant: string,
    query: DeadLetterFilter & { readonly limit: number; readonly after?: string },
  ): Promise<readonly JobRecord[]>;
  /**
   * Forgets what the jobs of a memory that is gone said of it: results, payloads and dead letters. Their states stay, for who
   * asks for them. O(jobs of the tenant). Answers how many had something to forget.
   */
  forgetContents(tenant: string, memory: string): Promise<number>;
  /**
   * The job's events after `after` (all that are kept when absent, or when the stream has not come so far: it was lost and
   * began anew), then live ones until the end or the signal. Each has the whole job, so that one who comes late misses steps,
   * never what became of it.
   */
  events(
    tenant: string,
    id: string,
    options: { readonly after?: string; readonly signal: AbortSignal },
  ): AsyncIterable<JobEvent>;
  /** Jobs by queue and state, for the backlog gauges; `due` are delayed ones whose time has come, `dead` the dead letters. */
  counts(): Promise<Readonly<Record<JobKind, Readonly<Record<string, number>>>>>;
  /** Resolves if Redis answers within its time-out. */
  ping(): Promise<void>;
  close(): Promise<void>;
}

/** What a handler knows about its run. */
export interface JobContext {
  readonly id: string;
  /** The job whose effects a run has: its own, or the one that it replays. Effects are guarded under this id. */
  readonly effectId: string;
  readonly tenant: string;
  readonly memory: string;
  /** 1 for the first. */
  readonly attempt: number;
  /** How often the job was taken over from a worker that died or hung in it. */
  readonly takenOver: number;
  readonly createdAt: number;
  /** Aborted on cancellation and when a stop runs out of time. */
  readonly signal: AbortSignal;
  /** Coalesced; cheap to call often. */
  readonly progress: (done: number, total: number) => void;
  /**
   * Tells what the run stored, or what an earlier run of the same effect did: it counts as used by the tenant once the result
   * is accepted, and once for all runs of the effect. The last call holds.
   */
  readonly stored: (counts: { readonly nodes: number; readonly bytes: number }) => void;
}

/**
 * A job's effect. Throws EspalierError: retryable ones are tried again, others fail the job. The result is JSON; `held(…)`
 * ends the run, and its job goes on until it is released.
 */
export type JobHandler = (payload: unknown, context: JobContext) => Promise<unknown>;

/** Where payloads and results over their limits are kept. The tree store's blobs fill it. */
export interface PayloadStore {
  put(
    tenant: string,
    key: string,
    bytes: Uint8Array,
    options: { readonly memory?: string; readonly expiresAt: number },
  ): Promise<void>;
  get(tenant: string, key: string): Promise<Uint8Array | undefined>;
  delete(tenant: string, key: string): Promise<void>;
}
