import type { Redis } from "ioredis";
import { LIMITS, type Clock } from "#core";
import type { JobData } from "./job-data.js";
import { heldKey, heldMember } from "./held/held-jobs.js";
import { blobKey, type JobKeys } from "./keys.js";
import { runScript } from "./scripts.js";
import { keepEnded, type JobSettings } from "./settings.js";
import type { StartAnswer, StatusWrites } from "./status-writes.js";
import type { JobError, JobKind, JobState, PayloadStore } from "./types.js";

/** What the status of jobs needs from its process. */
export interface StatusDeps {
  readonly redis: Redis;
  /** One for all queues of the process: what its runs write goes together. */
  readonly writes: StatusWrites;
  readonly keys: JobKeys;
  readonly settings: JobSettings;
  readonly clock: Clock;
  readonly payloadStore: PayloadStore;
  /** These webhooks of a tenant have something to deliver. Returns at once. */
  readonly notify: (tenant: string, webhooks: readonly string[]) => void;
}

/** How a job ends. */
export type Ending =
  | { readonly state: "completed"; readonly result: unknown }
  | { readonly state: Exclude<JobState, "completed" | "queued" | "active">; readonly error: JobError };

/** What a run stored, as its tenant is told that it used it. */
export interface StoredCounts {
  readonly nodes: number;
  /** UTF-8 bytes of what they say. */
  readonly bytes: number;
}

const NOTHING_STORED: StoredCounts = { nodes: 0, bytes: 0 };

/** What a run did, besides its result. */
export interface RunTally {
  readonly progress: { readonly done: number; readonly total: number };
  readonly stored: StoredCounts;
}

/** The status of an attempt, or the absence of one. */
export type RunStatus = Pick<AttemptStatus, "start" | "progress" | "retry" | "finish" | "hold">;

/**
 * The status of one attempt of a job, as its worker writes it. Every write is refused once a later attempt has begun or
 * the job has ended.
 */
export class AttemptStatus {
  readonly #deps: StatusDeps;
  readonly #data: JobData;
  readonly #kind: JobKind;
  readonly #attempt: number;
  readonly #startedAt: number;
  #progress = { done: 0, total: 0 };

  constructor(deps: StatusDeps, kind: JobKind, data: JobData, attempt: number) {
    this.#deps = deps;
    this.#kind = kind;
    this.#data = data;
    this.#attempt = attempt;
    this.#startedAt = deps.clock.now();
  }

  async start(): Promise<StartAnswer> {
    const { tenant, memory, id, createdAt, origin } = this.#data;
    const replay = origin !== undefined && { replayOf: origin };
    const record = { tenant, id, kind: this.#kind, memory, createdAt, ...replay };
    return this.#deps.writes.start({ record, attempt: this.#attempt, startedAt: this.#startedAt });
  }

  /** True if the job is no longer wanted: the message that said so may have been lost. */
  async progress(done: number, total: number): Promise<boolean> {
    this.#progress = { done, total };
    const answer = await this.#run("jobProgress", [this.#deps.settings.eventsPerJob, done, total]);
    return answer === "cancel";
  }

  /** Back to the queue. False if the job is no longer wanted: then it must be ended instead. */
  async retry(error?: JobError): Promise<boolean> {
    const values = [this.#deps.settings.eventsPerJob, error === undefined ? "" : JSON.stringify(error)];
    return (await this.#run("jobRetry", values)) !== "cancel";
  }

  /** Ends the job. False if it was refused; then nothing is left behind. */
  async finish(ending: Ending, tally?: RunTally): Promise<boolean> {
    const { progress, stored } = tally ?? { progress: this.#progress, stored: NOTHING_STORED };
    const { settings, clock, payloadStore } = this.#deps;
    const { tenant, id, origin = id, payload } = this.#data;
    const finishedAt = clock.now();
    const failed = ending.state === "failed" || ending.state === "dead";
    const keep = keepEnded(settings, ending.state);
    const result = ending.state === "completed" ? JSON.stringify(ending.result ?? null) : undefined;
    const large = result !== undefined && isLarge(result, LIMITS.resultBytes);
    if (large) await this.#keepLarge(result, finishedAt + Math.max(keep.ms, settings.idempotencyMs));
    const fields = [
      ...["startedAt", this.#startedAt, "finishedAt", finishedAt],
      // A run that told nothing has nothing to say, unless an earlier one did.
      ...(progress.total > 0 || this.#attempt > 1 ? ["done", progress.done, "total", progress.total] : []),
      ...(large ? ["resultAttempt", this.#attempt] : result === undefined ? [] : ["result", result]),
      ...(ending.state === "completed" ? [] : ["error", JSON.stringify(ending.error)]),
      // What a replay needs; a large payload stays where it is.
      ...(failed && payload !== undefined ? ["payload", JSON.stringify(payload)] : []),
      ...(failed ? this.#payloadVersion : []),
    ];
    const { answer, webhooks } = await this.#deps.writes.finish({
      ...{ tenant, id, kind: this.#kind, state: ending.state, attempt: this.#attempt, keep, fields },
      stored: { effect: origin, ...stored },
    });
    const accepted = answer === "ok";
    if (accepted) this.#deps.notify(tenant, webhooks);
    if (large && !accepted) await payloadStore.delete(tenant, this.#resultKey);
    if (accepted && !failed) await this.#forgetPayload();
    return accepted;
  }

  /**
   * Ends the run and leaves the job active until it is released. False if it was refused; then nothing is left behind but
   * an entry in the list of held jobs, which those who look through it remove.
   */
  async hold(result: unknown, { progress, stored }: RunTally): Promise<boolean> {
    const { redis, settings, clock, payloadStore } = this.#deps;
    const { tenant, id, origin = id } = this.#data;
    const text = JSON.stringify(result ?? null);
    const large = isLarge(text, LIMITS.resultBytes);
    // It must outlive the job's own end, which may be as far away as a job may be held.
    if (large) await this.#keepLarge(text, clock.now() + settings.keepQueuedMs + settings.keepFailedMs);
    // Listed before it is held: a process that dies between the two leaves an entry too many, never a job that nobody ends.
    await redis.zadd(heldKey(settings), "NX", 0, heldMember(this.#data));
    const { payload } = this.#data;
    const fields = [
      ...(large ? ["resultAttempt", this.#attempt] : ["result", text]),
      // What a replay needs, should it fail after all.
      ...(payload === undefined ? ["payloadApart", 1] : ["payload", JSON.stringify(payload)]),
      ...this.#payloadVersion,
    ];
    const values = [
      ...[settings.eventsPerJob, settings.keepQueuedMs, progress.done, progress.total],
      ...[origin, stored.nodes, stored.bytes, ...fields],
    ];
    const answer = await this.#run("jobHold", values);
    const accepted = answer === "ok" || answer === "held";
    if (large && !accepted) await payloadStore.delete(tenant, this.#resultKey);
    return accepted;
  }

  async #keepLarge(result: string, expiresAt: number): Promise<void> {
    const { tenant, memory } = this.#data;
    await this.#deps.payloadStore.put(tenant, this.#resultKey, Buffer.from(result), { memory, expiresAt });
  }

  /** The payload of a job that will not run again. */
  async #forgetPayload(): Promise<void> {
    const { tenant, id, payload } = this.#data;
    if (payload === undefined) await this.#deps.payloadStore.delete(tenant, blobKey(id, "payload"));
  }

  get #payloadVersion(): readonly (string | number)[] {
    const { version } = this.#data;
    return version === undefined ? [] : ["payloadVersion", version];
  }

  get #resultKey(): string {
    return blobKey(this.#data.id, `result-${this.#attempt}`);
  }

  #run(script: "jobProgress" | "jobRetry" | "jobHold", values: readonly (string | number)[]): Promise<unknown> {
    const { tenant, id } = this.#data;
    const { redis, keys } = this.#deps;
    return runScript(redis, script, [keys.job(tenant, id)], [this.#attempt, ...values]);
  }
}

/** Whether a text has more bytes than the limit; counts only when the characters alone do not tell. */
function isLarge(text: string, limit: number): boolean {
  return text.length > limit || (text.length * 3 > limit && Buffer.byteLength(text) > limit);
}
