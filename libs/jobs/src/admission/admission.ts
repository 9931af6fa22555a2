import type { Queue } from "bullmq";
import type { Redis } from "ioredis";
import { EspalierError } from "#core";
import type { JobData } from "../job-data.js";
import { Gathered } from "../gathered.js";
import { JOB_KINDS, jobNameOf } from "../job-names.js";
import { queueJobId, type JobKeys } from "../keys.js";
import { openQueue } from "../open-queue.js";
import { isEnded } from "../record.js";
import { RETRY_MAX_MS, type JobSettings } from "../settings.js";
import { answerOf, type NewStatus, type NewStatusOutcome, type StatusWrites } from "../status-writes.js";
import type { JobKind, JobState } from "../types.js";
import type { Envelope, Lane, LaneName, QueueLimits, Released, Submitted } from "./lane.js";
import { openLanes } from "./open-lanes.js";

export type { LaneName, QueueLimits };

/** The lane of each kind; jobs of a kind without one go to their queue at once (their rows were chosen fairly before). */
const LANE_OF: Readonly<Record<JobKind, LaneName | undefined>> = {
  query: "interactive",
  insert: "batch",
  maintain: "batch",
  score: undefined,
};

/** Sweeps that a worker may miss before it no longer counts. */
const REGISTERED_SWEEPS = 5;

/** What waits in a lane. */
export interface LaneBacklog {
  readonly jobs: number;
  /** Milliseconds since the oldest job at the head of its tenant's list was submitted; 0 if none waits. */
  readonly oldestMs: number;
}

/** BullMQ orders delayed jobs by their time and, within a millisecond, by their order. */
const DELAYED_SCORE_PER_MS = 0x1000;

/** Clocks that are kept in time differ by less. */
const CLOCK_TOLERANCE_MS = 5_000;

/** A job as it waits for its turn. */
interface Waiting {
  readonly kind: JobKind;
  readonly name: string;
  readonly data: JobData;
}

/** How a job comes to its lane. */
export interface SubmitTerms {
  /** Estimated tokens of work. */
  readonly cost: number;
  /** Those of the tenant; absent: the lane's. */
  readonly limits?: QueueLimits | undefined;
  /** What Redis must know before the job has its place; both leave in one write. */
  readonly announced?: Announced | undefined;
}

/** A status that is written with a job's place in its lane. */
export interface Announced {
  readonly status: NewStatus;
  /** Hears of the write, once it has left. */
  readonly written: (outcome: Promise<NewStatusOutcome>) => void;
}

/** A submit on its way to its lane. */
interface Coming {
  readonly envelope: Envelope;
  readonly waiting: Waiting;
  readonly announced: Announced | undefined;
}

export interface AdmissionOptions {
  readonly redis: Redis;
  readonly keys: JobKeys;
  readonly settings: JobSettings;
  /** Of a process that submits: writes the statuses that jobs come with, over the same connection. */
  readonly writes?: StatusWrites;
}

/**
 * Admission of jobs to their queues. Any process may submit, and whoever frees a place or brings a job adds to the queues
 * whatever has its turn by that; there is no leader. See lane-scripts.ts for the states.
 */
export class Admission {
  readonly #options: AdmissionOptions;
  readonly lanes: ReadonlyMap<LaneName, Lane>;
  /** Submits and ends on their way to their lanes. */
  readonly #submits: ReadonlyMap<LaneName, Gathered<Coming, Submitted["refused"]>>;
  readonly #ends: ReadonlyMap<LaneName, Gathered<string>>;
  readonly #queues: ReadonlyMap<JobKind, Queue<JobData>>;

  constructor(options: AdmissionOptions) {
    this.#options = options;
    const { redis, keys, settings } = options;
    this.lanes = openLanes(redis, settings);
    const holdMs = settings.callTimeoutMs;
    this.#submits = new Map(
      Array.from(this.lanes, ([name, lane]) => [
        name,
        new Gathered((coming) => this.#submitAll(lane, coming), {
          ...{ most: settings.lanes[name].submits, holdMs, waitMs: settings.callTimeoutMs },
        }),
      ]),
    );
    this.#ends = new Map(
      Array.from(this.lanes, ([name, lane]) => [
        name,
        new Gathered((tokens) => this.#finishAll(lane, tokens), { most: settings.lanes[name].releases, holdMs }),
      ]),
    );
    this.#queues = new Map(JOB_KINDS.map((kind) => [kind, openQueue(redis, keys, settings, kind)]));
  }

  /** The queue that jobs of a kind are admitted to. */
  queue(kind: JobKind): Queue<JobData> {
    const queue = this.#queues.get(kind);
    if (queue === undefined) throw new EspalierError("unknown_job_kind", `There is no queue of ${kind} jobs.`);
    return queue;
  }

  /** Closes the queues, not the connection. */
  async close(): Promise<void> {
    await Promise.all([...this.#queues.values()].map((queue) => queue.close().catch(() => undefined)));
  }

  /**
   * Lets a job wait for its turn; it may be its turn at once. Resolves when it is durable: should adding it to its queue
   * fail, a sweep adds it. A job that is known changes nothing.
   * @throws EspalierError `queue_full`
   */
  async submit(kind: JobKind, data: JobData, { cost, limits, announced }: SubmitTerms): Promise<void> {
    const { tenant, memory, id, createdAt } = data;
    const token = queueJobId(tenant, id);
    const waiting: Waiting = { kind, name: jobNameOf(kind, data.payload), data };
    const name = LANE_OF[kind];
    const submits = name && this.#submits.get(name);
    if (submits === undefined) {
      this.#announce([announced]);
      await this.#add(kind, [{ id: token, waiting }]);
      return;
    }
    const envelope = {
      ...{ id: token, tenant, cost, limits, createdAt, data: JSON.stringify(waiting) },
      ...(kind === "insert" && { order: memory }),
    };
    const refusal = (await submits.add({ envelope, waiting, announced })).get(token);
    if (refusal !== undefined) throw refusal;
  }

  /** The job has ended: its place is free, and the next in turn are on their way to their queues. Repeats safely. */
  async finish(kind: JobKind, token: string): Promise<void> {
    const name = LANE_OF[kind];
    if (name !== undefined) await this.#ends.get(name)?.add(token);
  }

  /** True if the job was waiting for its turn and now is gone. */
  async cancel(kind: JobKind, token: string): Promise<boolean> {
    const lane = this.#laneOf(kind);
    if (lane === undefined || !(await lane.cancel(token))) return false;
    await this.#deliver(await lane.dispatch());
    return true;
  }

  /** Takes a job out whose kind is not known any more: it waits no longer, and its place is free. Repeats safely. */
  async drop(token: string): Promise<void> {
    for (const lane of this.lanes.values()) {
      await this.#deliver((await lane.cancel(token)) ? await lane.dispatch() : await lane.finish(token));
    }
  }

  /** Tells, until the next sweep is long over, that this process runs so many jobs of a kind at once. */
  async register(worker: string, kind: JobKind, concurrency: number): Promise<void> {
    await this.#laneOf(kind)?.register(
      `${worker}/${kind}`,
      concurrency,
      REGISTERED_SWEEPS * this.#options.settings.sweepMs,
    );
  }

  /**
   * Makes up for processes that died: jobs released and never added are added, places of jobs that ended unnoticed are
   * freed, and what fits goes on. Any process, any number of times; bounded by the lanes' `sweepJobs`.
   */
  async sweep(): Promise<void> {
    for (const lane of this.lanes.values()) {
      await lane.measure();
      await Promise.all((await lane.lost()).map((job) => this.#lookAfter(lane, job)));
      await this.#deliver(await lane.dispatch());
    }
  }

  /** What waits for its turn, by lane. */
  async backlog(now: number): Promise<Readonly<Record<LaneName, LaneBacklog>>> {
    const entries = await Promise.all(
      Array.from(this.lanes, async ([name, lane]) => {
        const [{ queued }, oldest] = await Promise.all([lane.counts(), lane.oldest()]);
        return [name, { jobs: queued, oldestMs: oldest === undefined ? 0 : Math.max(0, now - oldest) }] as const;
      }),
    );
    return Object.fromEntries(entries) as Record<LaneName, LaneBacklog>;
  }

  #laneOf(kind: JobKind): Lane | undefined {
    const name = LANE_OF[kind];
    return name === undefined ? undefined : this.lanes.get(name);
  }

  async #submitAll(lane: Lane, coming: readonly Coming[]): Promise<Submitted["refused"]> {
    this.#announce(coming.map(({ announced }) => announced));
    const { released, refused } = await lane.submit(...coming.map(({ envelope }) => envelope));
    const known = new Map(coming.map(({ envelope, waiting }) => [envelope.id, waiting]));
    this.#deliver(released, known).catch(ignore);
    return refused;
  }

  /** Sends the statuses ahead of what is sent next. */
  #announce(all: readonly (Announced | undefined)[]): void {
    const { writes } = this.#options;
    const announced = all.filter((one) => one !== undefined);
    if (writes === undefined || announced.length === 0) return;
    const outcomes = writes.send(announced.map(({ status }) => status));
    for (const { status, written } of announced) written(outcomes.then((all) => answerOf(all, status)));
  }

  async #finishAll(lane: Lane, tokens: readonly string[]): Promise<void> {
    this.#deliver(await lane.finish(...tokens)).catch(ignore);
  }

  /** @param known jobs that need not be read again, by their ids */
  async #deliver(released: readonly Released[], known: ReadonlyMap<string, Waiting> = new Map()): Promise<void> {
    const byKind = Map.groupBy(
      released.map(({ id, data }) => ({ id, waiting: known.get(id) ?? (JSON.parse(data) as Waiting) })),
      ({ waiting }) => waiting.kind,
    );
    await Promise.all(Array.from(byKind, ([kind, jobs]) => this.#add(kind, jobs)));
  }

  /** A job that is in its queue already stays one job. */
  async #add(kind: JobKind, jobs: readonly { readonly id: string; readonly waiting: Waiting }[]): Promise<void> {
    const queue = this.queue(kind);
    const [first, ...others] = jobs;
    if (first === undefined) return;
    // Mostly it is one, for which a transaction of commands is much dearer than the command.
    if (others.length === 0) {
      await queue.add(first.waiting.name, first.waiting.data, { jobId: first.id });
      return;
    }
    await queue.addBulk(
      jobs.map(({ id, waiting }) => ({ name: waiting.name, data: waiting.data, opts: { jobId: id } })),
    );
  }

  /**
   * A flight that lasts: over if its status says so or has expired, or holds it; added to its queue if that has not got it; ready
   * to run if it waits for a time that was computed by a wrong clock.
   */
  async #lookAfter(lane: Lane, job: Released): Promise<void> {
    const { kind, data } = JSON.parse(job.data) as Waiting;
    const { redis, keys } = this.#options;
    // In this order: a job leaves its queue after its status has its end, so that one without either has never been there.
    const queued = await this.queue(kind).getJob(job.id);
    const [state, held] = await redis.hmget(keys.job(data.tenant, data.id), "state", "held");
    const over = state === null || state === undefined || isEnded(state as JobState) || typeof held === "string";
    if (over) return this.#deliver(await lane.finish(job.id));
    if (queued === undefined) return this.#deliver([job]);
    if (queued.finishedOn !== undefined) {
      // Its queue gave it up while Redis took no word of that: to whoever asks for the job it has not ended.
      await queued.remove();
      return this.#deliver([job]);
    }
    if (await this.#waitsWrongly(kind, job.id)) await queued.promote();
  }

  /**
   * Back-off is computed and ended by the clocks of workers. A job of one that was far ahead would wait until the others
   * come to that time; one whose time is long past waits because the clocks of all workers are behind.
   */
  async #waitsWrongly(kind: JobKind, id: string): Promise<boolean> {
    const { redis, settings } = this.#options;
    const [score, [seconds]] = await Promise.all([redis.zscore(this.queue(kind).toKey("delayed"), id), redis.time()]);
    if (score === null) return false;
    const waitsMs = Number(score) / DELAYED_SCORE_PER_MS - Number(seconds) * 1_000;
    return waitsMs > RETRY_MAX_MS + CLOCK_TOLERANCE_MS || waitsMs < -(CLOCK_TOLERANCE_MS + settings.sweepMs);
  }
}

function ignore(): void {
  // Made up for by a sweep: the job is released, and still there.
}
