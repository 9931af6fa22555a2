import type { Redis } from "ioredis";
import { followEvents } from "../job-events.js";
import { jobNotFound } from "../job-not-found.js";
import { queueJobId } from "../keys.js";
import { hashOf, isEnded, recordOf, type JobEnding } from "../record.js";
import { runScript } from "../scripts.js";
import type { JobEvent, JobRecord } from "../types.js";
import { Waiters } from "../waiters.js";
import type { ClientParts } from "./client-parts.js";

/** Somebody who listens for the end of a job. */
interface EndWait {
  /** The parts of the job's end, or why to read the status instead: it is large, or the time is over. */
  readonly end: Promise<JobEnding | "read">;
  /** The job is there: a look that does not find it any more has found its end. */
  readonly begun: () => void;
  readonly stop: () => void;
}

/** Waiting for jobs and following them: over one subscription, whatever the number of those who do. */
export class JobWaits {
  readonly #parts: ClientParts;
  readonly #waiters: Waiters;

  /** @param subscriber a connection of its own, which it closes */
  constructor(parts: ClientParts, subscriber: Redis) {
    this.#parts = parts;
    this.#waiters = new Waiters(subscriber, parts.channel, parts.settings.pollMs);
  }

  close(): void {
    this.#waiters.close();
  }

  /** Waits for a job that was submitted before, perhaps by another process. */
  async waitAgain(record: JobRecord, waitMs: number, signal: AbortSignal | undefined): Promise<JobRecord> {
    const { tenant, id } = record;
    const waiting = this.awaitEnd(record, waitMs, signal);
    try {
      if (isEnded((await this.#watch(tenant, id)).state)) return await this.#parts.get(tenant, id);
      waiting.begun();
      return await this.endOf(record, waiting);
    } finally {
      waiting.stop();
    }
  }

  /** The job as it is when the wait is over. @throws EspalierError `job_not_found` if it has ended and was dropped */
  async endOf(record: JobRecord, { end }: EndWait): Promise<JobRecord> {
    const ending = await end;
    return ending === "read" ? this.#parts.get(record.tenant, record.id) : { ...record, ...ending };
  }

  /** Listens for the end of a job, also of one that is not there yet, until it is stopped. */
  awaitEnd({ tenant, id }: Pick<JobRecord, "tenant" | "id">, waitMs: number, signal: AbortSignal | undefined): EndWait {
    const { promise: end, resolve } = Promise.withResolvers<JobEnding | "read">();
    let hasBegun = false;
    const read = (): void => {
      resolve("read");
    };
    const unregister = this.#waiters.register(queueJobId(tenant, id), (wake) => {
      if (wake.kind === "end") resolve(wake.ending ?? "read");
      if (wake.kind === "poll") void this.#whenOver({ tenant, id, hasBegun }, read);
    });
    const timer = setTimeout(read, waitMs);
    if (signal?.aborted === true) read();
    signal?.addEventListener("abort", read, { once: true });
    const stop = (): void => {
      unregister();
      clearTimeout(timer);
      signal?.removeEventListener("abort", read);
    };
    const begun = (): void => {
      hasBegun = true;
    };
    return { end, begun, stop };
  }

  /** See `JobClient.events`. */
  events(
    tenant: string,
    id: string,
    options: { readonly after?: string; readonly signal: AbortSignal },
  ): AsyncIterable<JobEvent> {
    const { redis, keys, call, get } = this.#parts;
    const stream = keys.events(tenant, id);
    return followEvents(
      {
        register: (listener) => this.#waiters.register(queueJobId(tenant, id), listener),
        watch: () => this.#follow(tenant, id),
        record: () => get(tenant, id),
        last: async () => (await call(() => redis.xrevrange(stream, "+", "-", "COUNT", 1)))[0]?.[0],
        read: (after, count) => call(() => redis.xrange(stream, after, "+", "COUNT", count)),
      },
      options,
    );
  }

  /** Redis being away is not an end: the next poll asks again. */
  async #whenOver(
    job: { readonly tenant: string; readonly id: string; readonly hasBegun: boolean },
    over: () => void,
  ): Promise<void> {
    const { redis, keys, call } = this.#parts;
    try {
      const state = await call(() => redis.hget(keys.job(job.tenant, job.id), "state"));
      if (state === null ? job.hasBegun : isEnded(state as JobRecord["state"])) over();
    } catch {
      // The waiter's own time-out bounds how often.
    }
  }

  /** Has this process woken about the job from now on. The record is without its result. */
  #watch(tenant: string, id: string): Promise<JobRecord> {
    return this.#woken("jobWatch", tenant, id);
  }

  /** The same, and from now on the job's events are kept. */
  #follow(tenant: string, id: string): Promise<JobRecord> {
    return this.#woken("jobFollow", tenant, id);
  }

  async #woken(script: "jobWatch" | "jobFollow", tenant: string, id: string): Promise<JobRecord> {
    const { redis, keys, settings, channel, call } = this.#parts;
    const job = [keys.job(tenant, id)];
    const reply = await call(() => runScript(redis, script, job, [channel, settings.watchersPerJob]));
    const hash = hashOf(reply as string[]);
    if (hash === undefined) throw jobNotFound(id);
    return recordOf({ tenant, id }, hash);
  }
}
