import { EspalierError } from "#core";
import { jobNotFound } from "./job-not-found.js";
import { constantOf, hashOf, isEnded, recordOf } from "./record.js";
import type { JobEvent, JobRecord } from "./types.js";
import type { WakeListener } from "./waiters.js";

/** Events read at once. */
const CHUNK = 100;

const EVENT_ID = /^\d{1,20}-\d{1,20}$/;

/** One job as its followers need it. */
export interface FollowedJob {
  register(listener: WakeListener): () => void;
  /** Asks for wake-ups; answers the record without its result. */
  watch(): Promise<JobRecord>;
  record(): Promise<JobRecord>;
  /** Id of the latest entry of the event stream. */
  last(): Promise<string | undefined>;
  /** Entries of the event stream from an id (`-`, or `(id` for after it). */
  read(from: string, count: number): Promise<readonly [id: string, fields: string[]][]>;
}

/**
 * The kept events after `after`, then new ones as they come, until the job has ended or the signal is aborted. The
 * listener is there before the stream is read, and a poll looks again, so nothing is missed.
 * @throws EspalierError `job_not_found`, also for a job that is gone before its end was read; `invalid_request` for an `after` that is no event id
 */
export async function* followEvents(
  job: FollowedJob,
  options: { readonly after?: string; readonly signal: AbortSignal },
): AsyncGenerator<JobEvent, void, undefined> {
  if (options.after !== undefined && !EVENT_ID.test(options.after)) {
    throw new EspalierError("invalid_request", "Last-Event-ID is not an id of this stream.");
  }
  const bell = new Bell(options.signal);
  const unregister = job.register(() => {
    bell.ring();
  });
  try {
    const now = await job.watch();
    const after = options.after !== undefined && isWithin(options.after, await job.last()) ? options.after : undefined;
    let record = after === undefined ? blank(now) : now;
    let from = after === undefined ? "-" : `(${after}`;
    while (!options.signal.aborted) {
      const entries = await job.read(from, CHUNK);
      for (const [id, fields] of entries) {
        const event = await eventOf(job, record, id, fields);
        yield event;
        if (isEnded(event.record.state)) return;
        record = event.record;
        from = `(${id}`;
      }
      if (entries.length > 0) continue;
      // Asked for what follows the last event of an ended job.
      if (isEnded(now.state)) return;
      // The stream is there for as long as its job: the end of one that was dropped would be waited for in vain.
      if ((await job.last()) === undefined) throw jobNotFound(now.id);
      await bell.rung();
    }
  } finally {
    unregister();
    bell.close();
  }
}

/** Whether a stream has come as far as an id of it: ids are times with a counter. */
function isWithin(id: string, last: string | undefined): boolean {
  const [time = 0n, count = 0n] = id.split("-").map(BigInt);
  const [lastTime = 0n, lastCount = 0n] = (last ?? "0-0").split("-").map(BigInt);
  return time < lastTime || (time === lastTime && count <= lastCount);
}

/** The record before its first event. */
function blank(record: JobRecord): JobRecord {
  const { id, tenant, memory, kind, createdAt } = record;
  return { id, tenant, memory, kind, state: "queued", progress: { done: 0, total: 0 }, createdAt, attempts: 0 };
}

/** Entries hold what changed; the end is told with the whole record. */
async function eventOf(job: FollowedJob, before: JobRecord, id: string, fields: string[]): Promise<JobEvent> {
  const change = hashOf(fields) ?? {};
  const type = change["type"] === "progress" ? "progress" : "state";
  if (isEnded(change["state"] as JobRecord["state"])) return { id, type, record: await job.record() };
  const startedAt = change["startedAt"] ?? before.startedAt?.toString();
  const record = recordOf(before, {
    ...{ job: constantOf(before), attempts: String(before.attempts) },
    ...{ done: String(before.progress.done), total: String(before.progress.total) },
    ...change,
    ...(startedAt !== undefined && { startedAt }),
  });
  return { id, type, record };
}

/** Rings once for any number of strokes since it was last heard; an abort rings it for good. */
class Bell {
  readonly #signal: AbortSignal;
  #stroke = Promise.withResolvers<undefined>();
  readonly ring = (): void => {
    this.#stroke.resolve(undefined);
  };

  constructor(signal: AbortSignal) {
    this.#signal = signal;
    signal.addEventListener("abort", this.ring);
  }

  async rung(): Promise<void> {
    await this.#stroke.promise;
    if (!this.#signal.aborted) this.#stroke = Promise.withResolvers<undefined>();
  }

  close(): void {
    this.#signal.removeEventListener("abort", this.ring);
  }
}
