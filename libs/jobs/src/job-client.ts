import type { Queue } from "bullmq";
import type { Redis } from "ioredis";
import { EspalierError, LIMITS, RETENTION_SECONDS, type Clock, type IdSource } from "#core";
import { Admission, type LaneBacklog, type LaneName, type QueueLimits } from "./admission/admission.js";
import { estimateCost } from "./admission/estimate-cost.js";
import type { JobData } from "./job-data.js";
import { followEvents } from "./job-events.js";
import { JOB_KINDS, jobNameOf } from "./job-names.js";
import { blobKey, jobKeys, queueJobId, type JobKeys } from "./keys.js";
import {
  fullRecordOf,
  hashOf,
  isEnded,
  LISTED_FIELDS,
  newHash,
  recordOf,
  type JobEnding,
  type JobHash,
} from "./record.js";
import { payloadVersion } from "./payload-upgrades.js";
import { bounded, connectRedis, isCluster } from "./redis.js";
import { endAnswer, runScript } from "./scripts.js";
import { Sweeper } from "./admission/sweeper.js";
import { SerializedPayload } from "./serialized-payload.js";
import { JOB_SETTINGS, keepEnded, type JobSettings } from "./settings.js";
import type { JobClient, JobEvent, JobKind, JobRecord, PayloadStore, SubmitRequest } from "./types.js";
import { Waiters } from "./waiters.js";
import { DeliveryQueue } from "./webhooks/delivery-queue.js";

/** Jobs of a list that are read at once. */
const LIST_CHUNK = 100;

export interface JobClientOptions {
  /** `redis://…`, `rediss://…`, `unix:///path` or the path of a unix socket. */
  readonly redis: string;
  readonly payloadStore: PayloadStore;
  readonly clock: Clock;
  readonly ids: IdSource;
  /** What a tenant may have in each lane; absent: what the settings of the lanes say, for every tenant. */
  readonly limits?: ((tenant: string) => Promise<QueueLimits>) | undefined;
  readonly settings?: Partial<JobSettings>;
}

/** A submit, or the replay of a job. */
interface Enqueued extends SubmitRequest {
  readonly origin?: string;
  /** Of the payload; absent: this release's. */
  readonly version?: number;
}

/** A submitted job and how it got there. */
interface Submitted {
  readonly record: JobRecord;
  /** False for a repeat under the same idempotency key. */
  readonly fresh: boolean;
}

/**
 * The jobs of a process that submits and follows them. Returns at once, also when Redis is down: calls then answer
 * `queue_unavailable` until it is back. Holds two connections (commands and one subscription) whatever the number of
 * waiters. A submit is two commands in one round trip; with an idempotency key two round trips.
 */
export function createJobClient(options: JobClientOptions): JobClient & QueueAges {
  return new RedisJobClient(options);
}

/** How old the backlog is, and how much waits ahead of the queues. */
export interface QueueAges {
  /** Jobs that wait for their turn, by lane, and since when the oldest of them does. */
  backlog(): Promise<Readonly<Record<LaneName, LaneBacklog>>>;
  /** Milliseconds since the oldest waiting job of each queue was submitted; 0 if none waits. */
  oldestMs(): Promise<Readonly<Record<JobKind, number>>>;
}

class RedisJobClient implements JobClient, QueueAges {
  readonly #options: JobClientOptions;
  readonly #settings: JobSettings;
  readonly #keys: JobKeys;
  readonly #redis: Redis;
  readonly #channel: string;
  readonly #waiters: Waiters;
  readonly #admission: Admission;
  readonly #deliveries: DeliveryQueue;
  readonly #sweeper: Sweeper;

  constructor(options: JobClientOptions) {
    this.#options = options;
    this.#settings = { ...JOB_SETTINGS, ...options.settings };
    this.#keys = jobKeys(this.#settings.prefix);
    this.#redis = connectRedis(options.redis, "producer");
    this.#channel = this.#keys.wake(crypto.randomUUID());
    this.#waiters = new Waiters(connectRedis(options.redis, "subscriber"), this.#channel, this.#settings.pollMs);
    this.#admission = new Admission({ redis: this.#redis, keys: this.#keys, settings: this.#settings });
    this.#deliveries = new DeliveryQueue(this.#redis, this.#settings);
    this.#sweeper = new Sweeper(() => this.#call(() => this.#admission.sweep()), this.#settings.sweepMs);
  }

  async submit(request: SubmitRequest): Promise<JobRecord> {
    const id = this.#options.ids("job");
    return (await this.#enqueue(request, id)).record;
  }

  async submitAndWait(request: SubmitRequest, waitMs: number, signal?: AbortSignal): Promise<JobRecord> {
    const id = this.#options.ids("job");
    const waiting = this.#awaitEnd(request.tenant, id, waitMs, signal);
    try {
      const { record, fresh } = await this.#enqueue(request, id, true);
      if (!fresh) return await this.#waitAgain(record, waitMs, signal);
      const end = await waiting.end;
      return typeof end === "object" ? { ...record, ...end } : await this.get(record.tenant, record.id);
    } finally {
      waiting.stop();
    }
  }

  async get(tenant: string, id: string): Promise<JobRecord> {
    const hash = await this.#call(() => this.#redis.hgetall(this.#keys.job(tenant, id)));
    if (hash["state"] === undefined) throw jobNotFound(id);
    return fullRecordOf(hash, this.#options.payloadStore);
  }

  async list(tenant: string, query: Parameters<JobClient["list"]>[1]): Promise<readonly JobRecord[]> {
    const found: JobRecord[] = [];
    let after = query.after;
    // Bounded by jobsPerTenant: every turn moves towards the oldest job of the list.
    for (;;) {
      const ids = await this.#listedAfter(tenant, after);
      for (const record of await this.#listed(tenant, ids)) {
        if (query.memory !== undefined && record.memory !== query.memory) continue;
        if (query.states?.includes(record.state) === false) continue;
        if (query.kind !== undefined && record.kind !== query.kind) continue;
        if (record.createdAt < (query.createdFrom ?? 0)) continue;
        if (record.createdAt >= (query.createdBefore ?? Infinity)) continue;
        found.push(record);
        if (found.length === query.limit) return found;
      }
      if (ids.length < LIST_CHUNK) return found;
      after = ids.at(-1);
    }
  }

  async cancel(tenant: string, id: string): Promise<JobRecord> {
    const keys = [
      ...[this.#keys.job(tenant, id), this.#keys.events(tenant, id)],
      ...[this.#keys.webhooks(tenant), this.#keys.usage(tenant)],
    ];
    const token = queueJobId(tenant, id);
    const error = { code: "cancelled", message: "The job was cancelled while it was queued.", details: {} };
    const keep = keepEnded(this.#settings, "cancelled");
    const reply = await this.#call(() =>
      runScript(this.#redis, "jobCancel", keys, [
        ...[token, this.#options.clock.now(), keep.ms, JSON.stringify(error), this.#settings.eventsPerJob, keep.bytes],
      ]),
    );
    const { answer: outcome, webhooks } = endAnswer(reply);
    this.#deliveries.tellSoon(tenant, webhooks, this.#options.clock.now());
    if (outcome === "gone") throw jobNotFound(id);
    if (outcome === "ended") throw new EspalierError("job_finished", `The job ${id} has ended already.`);
    if (outcome === "held") throw heldAlready(id);
    const record = await this.get(tenant, id);
    if (outcome === "repeat") return record;
    // The worker that may have it hears of it at once; a queued job also leaves its queue, unless one just took it.
    await this.#call(async () => {
      await this.#redis.publish(this.#keys.control, token);
      if (outcome === "queued") await this.#leaveQueue(record);
    });
    // Nobody will run it: a worker that took it meanwhile finds it cancelled before it reads its payload.
    if (outcome === "queued") await this.#options.payloadStore.delete(tenant, blobKey(id, "payload"));
    return record;
  }

  async replay(tenant: string, id: string): Promise<JobRecord> {
    const [hash, chosen] = await this.#call(() =>
      Promise.all([
        this.#redis.hgetall(this.#keys.job(tenant, id)),
        runScript(
          this.#redis,
          "jobReplay",
          [this.#keys.job(tenant, id)],
          [this.#options.ids("job")],
        ) as Promise<string>,
      ]),
    );
    if (chosen === "gone") throw jobNotFound(id);
    if (chosen === "not failed") throw new EspalierError("job_not_failed", `The job ${id} is ${hash["state"] ?? ""}.`);
    const state = await this.#call(() => this.#redis.hget(this.#keys.job(tenant, chosen), "state"));
    if (state !== null) return this.get(tenant, chosen);
    const { memory, kind, replayOf } = recordOf(hash);
    const origin = replayOf ?? id;
    const payload = await this.#payloadOf(tenant, id, hash);
    const version = Number(hash["payloadVersion"] ?? 1);
    // Whoever asks at the same time submits the same job: that is one job.
    try {
      return (await this.#enqueue({ kind, tenant, memory, payload, origin, version }, chosen)).record;
    } catch (error) {
      if (error instanceof EspalierError && error.code === "queue_full") await this.#unchoose(tenant, id, chosen);
      throw error;
    }
  }

  /** A replay that was refused a place is none: the job is a dead letter as before. */
  async #unchoose(tenant: string, id: string, chosen: string): Promise<void> {
    const keys = [this.#keys.job(tenant, id), this.#keys.job(tenant, chosen)];
    await this.#call(() => runScript(this.#redis, "jobUnreplay", keys, [chosen])).catch(ignore);
  }

  async deadLetters(
    tenant: string,
    { memory, kind, limit, after }: Parameters<JobClient["deadLetters"]>[1],
  ): Promise<readonly JobRecord[]> {
    const found: JobRecord[] = [];
    const letters = this.#keys.letters(tenant);
    const rank = after === undefined ? -1 : await this.#call(() => this.#redis.zrevrank(letters, after));
    // Entries leave from the old end only: a letter that is no longer there was the last.
    if (rank === null) return found;
    // Bounded by lettersPerTenant.
    for (let from = rank + 1; ; from += LIST_CHUNK) {
      const ids = await this.#call(() => this.#redis.zrevrange(letters, from, from + LIST_CHUNK - 1));
      for (const record of await this.#records(tenant, ids)) {
        if (record.state !== "dead" || record.replayedAs !== undefined) continue;
        if (memory !== undefined && record.memory !== memory) continue;
        if (kind !== undefined && record.kind !== kind) continue;
        found.push(record);
        if (found.length === limit) return found;
      }
      if (ids.length < LIST_CHUNK) return found;
    }
  }

  async forgetContents(tenant: string, memory: string): Promise<number> {
    let [forgotten, after]: [number, string | undefined] = [0, undefined];
    // Bounded by jobsPerTenant.
    for (;;) {
      const ids = await this.#listedAfter(tenant, after);
      const own = (await this.#records(tenant, ids)).filter((record) => record.memory === memory);
      for (const { id, kind, state } of own) forgotten += await this.#forgetJob(tenant, id, isEnded(state) && kind);
      if (ids.length < LIST_CHUNK) return forgotten;
      after = ids.at(-1);
    }
  }

  events(
    tenant: string,
    id: string,
    options: { readonly after?: string; readonly signal: AbortSignal },
  ): AsyncIterable<JobEvent> {
    return followEvents(
      {
        register: (listener) => this.#waiters.register(queueJobId(tenant, id), listener),
        watch: () => this.#follow(tenant, id),
        record: () => this.get(tenant, id),
        last: async () =>
          (await this.#call(() => this.#redis.xrevrange(this.#keys.events(tenant, id), "+", "-", "COUNT", 1)))[0]?.[0],
        read: (after, count) =>
          this.#call(() => this.#redis.xrange(this.#keys.events(tenant, id), after, "+", "COUNT", count)),
      },
      options,
    );
  }

  async counts(): Promise<Readonly<Record<JobKind, Readonly<Record<string, number>>>>> {
    return this.#perQueue(async (kind, queue) => {
      const now = this.#options.clock.now();
      const [counts, due, dead] = await Promise.all([
        queue.getJobCounts("waiting", "prioritized", "active", "delayed", "completed", "failed"),
        queue.getDelayedCount(now),
        this.#redis.zcount(this.#keys.dead(kind), now - this.#settings.keepFailedMs, "+inf"),
      ]);
      return { ...counts, due, delayed: Math.max(0, (counts["delayed"] ?? 0) - due), dead };
    });
  }

  async oldestMs(): Promise<Readonly<Record<JobKind, number>>> {
    const now = this.#options.clock.now();
    return this.#perQueue(async (_kind, queue) => {
      const [oldest] = await queue.getJobs(["waiting"], 0, 0, true);
      return oldest === undefined ? 0 : Math.max(0, now - oldest.timestamp);
    });
  }

  backlog(): Promise<Readonly<Record<LaneName, LaneBacklog>>> {
    return this.#call(() => this.#admission.backlog(this.#options.clock.now()));
  }

  async ping(): Promise<void> {
    await this.#call(() => this.#redis.ping());
  }

  async close(): Promise<void> {
    this.#sweeper.stop();
    this.#waiters.close();
    await this.#admission.close();
    await this.#deliveries.close();
    this.#redis.disconnect();
  }

  /** Adds the job and its status; a repeat under the same key answers the first job. */
  async #enqueue(request: Enqueued, id: string, watched = false): Promise<Submitted> {
    const { tenant, memory, kind, idempotency, origin } = request;
    await this.#check(request);
    const record: JobRecord = {
      ...{ id, tenant, memory, kind, state: "queued" },
      ...{ progress: { done: 0, total: 0 }, createdAt: this.#options.clock.now(), attempts: 0 },
      ...(origin !== undefined && { replayOf: origin }),
    };
    const text = request.payload instanceof SerializedPayload ? request.payload.bytes : JSON.stringify(request.payload);
    const terms = { cost: estimateCost(kind, text.length), limits: await this.#options.limits?.(tenant) };
    const large = await this.#keepLarge(request, id, text);
    const name = jobNameOf(kind, request.payload);
    const { version = payloadVersion(this.#settings.upgrades, name) } = request;
    const admit = (of: JobRecord): Promise<void> =>
      this.#admission.submit(kind, dataOf(of, version, large ? undefined : request.payload), terms);
    return this.#call(async () => {
      if (idempotency === undefined) {
        const told = this.#submitScript(record, request, watched);
        // Both leave in one write, and a connection keeps their order; the nodes of a cluster keep none between them.
        if (isCluster(this.#options.redis)) await told;
        const placed = this.#admitOrForget(record, request, admit);
        const [status, place] = await Promise.allSettled([told, placed]);
        // A full Redis can refuse the one and take the other: the caller is told that there is no job.
        if (status.status === "rejected" && place.status === "fulfilled") await this.#leaveQueue(record).catch(ignore);
        await Promise.all([told, placed]);
        return { record, fresh: true };
      }
      const [outcome, known] = await this.#submitScript(record, request, watched);
      if (outcome === "new") {
        await this.#admitOrForget(record, request, admit);
        return { record, fresh: true };
      }
      if (large) await this.#options.payloadStore.delete(tenant, blobKey(id, "payload"));
      if (outcome === "conflict") {
        throw new EspalierError("idempotency_conflict", "The Idempotency-Key was used with another request.");
      }
      return { record: await this.#repeat(tenant, known, admit), fresh: false };
    });
  }

  /** A repeat under a key is not refused what the first request was given: it goes on if the key is known. */
  async #check({ tenant, idempotency, check }: SubmitRequest): Promise<void> {
    try {
      await check?.();
    } catch (error) {
      const key = idempotency && this.#keys.idempotency(tenant, idempotency.key);
      if (key === undefined || (await this.#call(() => this.#redis.exists(key))) === 0) throw error;
    }
  }

  /** Takes a job out of its lane or its queue that nobody runs yet. */
  async #leaveQueue({ kind, tenant, id }: Pick<JobRecord, "kind" | "tenant" | "id">): Promise<void> {
    const token = queueJobId(tenant, id);
    if (await this.#admission.cancel(kind, token)) return;
    await this.#admission.queue(kind).remove(token);
    await this.#admission.finish(kind, token);
  }

  /** Takes back the status of a job that was refused a place: the caller is told that there is none. */
  async #admitOrForget(
    record: JobRecord,
    { idempotency }: SubmitRequest,
    admit: (of: JobRecord) => Promise<void>,
  ): Promise<void> {
    const { tenant, id } = record;
    try {
      await admit(record);
    } catch (error) {
      const keys = [
        ...[this.#keys.job(tenant, id), this.#keys.events(tenant, id), this.#keys.list(tenant)],
        this.#keys.idempotency(tenant, idempotency?.key ?? ""),
      ];
      await runScript(this.#redis, "jobForget", keys, [id]).catch(ignore);
      await this.#options.payloadStore.delete(tenant, blobKey(id, "payload")).catch(ignore);
      throw error;
    }
  }

  /** A process that died between status and admission left a job that nobody runs: admitting it again is harmless. */
  async #repeat(tenant: string, id: string, admit: (of: JobRecord) => Promise<void>): Promise<JobRecord> {
    const record = await this.get(tenant, id).catch((error: unknown) => {
      if (!(error instanceof EspalierError) || error.code !== "job_not_found") throw error;
      const message = "The first request of this Idempotency-Key has just been refused; the next one is a first again.";
      throw new EspalierError("request_in_progress", message, { cause: error });
    });
    if (record.state === "queued") await admit(record);
    return record;
  }

  async #submitScript(record: JobRecord, request: SubmitRequest, watched: boolean): Promise<readonly [string, string]> {
    const { tenant, id } = record;
    const idempotency = request.idempotency;
    const keys = [
      this.#keys.job(tenant, id),
      this.#keys.events(tenant, id),
      this.#keys.list(tenant),
      this.#keys.idempotency(tenant, idempotency?.key ?? ""),
    ];
    const reply = await runScript(this.#redis, "jobSubmit", keys, [
      ...[id, idempotency?.fingerprint ?? "", this.#settings.idempotencyMs],
      ...[this.#settings.keepQueuedMs, this.#settings.jobsPerTenant, ...newHash(record)],
      ...(watched ? ["watch", this.#channel] : []),
      ...(idempotency === undefined ? [] : ["keepMs", this.#settings.idempotencyMs]),
    ]);
    return reply as [string, string];
  }

  /** @param ended the kind of an ended job, whose copy in its queue goes too */
  async #forgetJob(tenant: string, id: string, ended: JobKind | false): Promise<number> {
    const hash = this.#keys.job(tenant, id);
    const [removed] = await this.#call(() =>
      Promise.all([
        this.#redis.hdel(hash, "result", "resultAttempt", "payload"),
        this.#redis.zrem(this.#keys.letters(tenant), id),
        ended === false ? 0 : this.#admission.queue(ended).remove(queueJobId(tenant, id)),
      ]),
    );
    return Math.min(1, removed);
  }

  /** What a failed job was asked to do. */
  async #payloadOf(tenant: string, id: string, hash: JobHash): Promise<unknown> {
    if (hash["payload"] !== undefined) return JSON.parse(hash["payload"]) as unknown;
    const bytes = await this.#options.payloadStore.get(tenant, blobKey(id, "payload"));
    if (bytes === undefined) throw new EspalierError("job_not_found", `The payload of ${id} has expired.`);
    return JSON.parse(Buffer.from(bytes).toString("utf8")) as unknown;
  }

  /** Puts a large payload beside the queue, before anything refers to it. */
  async #keepLarge(request: SubmitRequest, id: string, text: string | Uint8Array): Promise<boolean> {
    if (
      typeof text === "string" &&
      text.length <= LIMITS.payloadBytes &&
      Buffer.byteLength(text) <= LIMITS.payloadBytes
    ) {
      return false;
    }
    // Not worth a write while there is no queue to run it.
    await this.ping();
    await this.#options.payloadStore.put(
      request.tenant,
      blobKey(id, "payload"),
      typeof text === "string" ? Buffer.from(text) : text,
      {
        memory: request.memory,
        expiresAt: this.#options.clock.now() + 2 * RETENTION_SECONDS.failedJob * 1_000,
      },
    );
    return true;
  }

  /** Waits for a job that was submitted before, perhaps by another process. */
  async #waitAgain(record: JobRecord, waitMs: number, signal: AbortSignal | undefined): Promise<JobRecord> {
    const { tenant, id } = record;
    const waiting = this.#awaitEnd(tenant, id, waitMs, signal);
    try {
      if (isEnded((await this.#watch(tenant, id)).state)) return await this.get(tenant, id);
      const end = await waiting.end;
      return typeof end === "object" ? { ...record, ...end } : await this.get(tenant, id);
    } finally {
      waiting.stop();
    }
  }

  /** Listens for the end: its parts, or why to read the status instead. */
  #awaitEnd(
    tenant: string,
    id: string,
    waitMs: number,
    signal: AbortSignal | undefined,
  ): { readonly end: Promise<JobEnding | "read">; readonly stop: () => void } {
    const { promise: end, resolve } = Promise.withResolvers<JobEnding | "read">();
    const read = (): void => {
      resolve("read");
    };
    const unregister = this.#waiters.register(queueJobId(tenant, id), (wake) => {
      if (wake.kind === "end") resolve(wake.ending ?? "read");
      if (wake.kind === "poll") void this.#whenEnded(tenant, id, read);
    });
    const timer = setTimeout(read, waitMs);
    if (signal?.aborted === true) read();
    signal?.addEventListener("abort", read, { once: true });
    const stop = (): void => {
      unregister();
      clearTimeout(timer);
      signal?.removeEventListener("abort", read);
    };
    return { end, stop };
  }

  /** Redis being away is not an end: the next poll asks again. */
  async #whenEnded(tenant: string, id: string, ended: () => void): Promise<void> {
    try {
      const state = await this.#call(() => this.#redis.hget(this.#keys.job(tenant, id), "state"));
      if (state !== null && isEnded(state as JobRecord["state"])) ended();
    } catch {
      // The waiter's own time-out bounds how often.
    }
  }

  /** Has this process woken about the job from now on. The record is without its result. */
  #watch(tenant: string, id: string): Promise<JobRecord> {
    return this.#woken("jobWatch", id, [this.#keys.job(tenant, id)]);
  }

  /** The same, and from now on the job's events are kept. */
  #follow(tenant: string, id: string): Promise<JobRecord> {
    return this.#woken("jobFollow", id, [this.#keys.job(tenant, id), this.#keys.events(tenant, id)]);
  }

  async #woken(script: "jobWatch" | "jobFollow", id: string, keys: readonly string[]): Promise<JobRecord> {
    const values = [this.#channel, this.#settings.watchersPerJob];
    const hash = hashOf((await this.#call(() => runScript(this.#redis, script, keys, values))) as string[]);
    if (hash === undefined) throw jobNotFound(id);
    return recordOf(hash);
  }

  #listedAfter(tenant: string, after: string | undefined): Promise<string[]> {
    const from = after === undefined ? "+" : `(${after}`;
    return this.#call(() => this.#redis.zrevrangebylex(this.#keys.list(tenant), from, "-", "LIMIT", 0, LIST_CHUNK));
  }

  /** Records of listed ids; ids whose status has expired leave the list. */
  async #listed(tenant: string, ids: readonly string[]): Promise<readonly JobRecord[]> {
    const records = await this.#records(tenant, ids);
    const known = new Set(records.map(({ id }) => id));
    const expired = ids.filter((id) => !known.has(id));
    if (expired.length > 0) await this.#call(() => this.#redis.zrem(this.#keys.list(tenant), ...expired));
    return records;
  }

  /** Records by id without results; expired ones are left out. */
  async #records(tenant: string, ids: readonly string[]): Promise<readonly JobRecord[]> {
    const replies = await this.#call(() =>
      Promise.all(ids.map((id) => this.#redis.hmget(this.#keys.job(tenant, id), ...LISTED_FIELDS))),
    );
    return replies.flatMap((reply) => {
      const flat = reply.flatMap((value, index) => (value === null ? [] : [LISTED_FIELDS[index] ?? "", value]));
      const hash = hashOf(flat);
      return hash === undefined ? [] : [recordOf(hash)];
    });
  }

  async #perQueue<T>(read: (kind: JobKind, queue: Queue<JobData>) => Promise<T>): Promise<Record<JobKind, T>> {
    const entries = await this.#call(() =>
      Promise.all(JOB_KINDS.map(async (kind) => [kind, await read(kind, this.#admission.queue(kind))] as const)),
    );
    return Object.fromEntries(entries) as Record<JobKind, T>;
  }

  #call<T>(calls: () => Promise<T>): Promise<T> {
    return bounded(this.#redis, this.#settings, calls);
  }
}

/** What a queue carries of a job; a payload that is kept by reference stays where it is. */
function dataOf({ tenant, memory, id, createdAt, replayOf }: JobRecord, version: number, payload: unknown): JobData {
  const origin = replayOf !== undefined && { origin: replayOf };
  const newer = version > 1 && { version };
  return { tenant, memory, id, createdAt, ...origin, ...newer, ...(payload !== undefined && { payload }) };
}

function heldAlready(id: string): EspalierError {
  const message = `What the job ${id} does is stored and cannot be cancelled; it ends when the rest of it is computed.`;
  return new EspalierError("job_finished", message);
}

function jobNotFound(id: string): EspalierError {
  return new EspalierError("job_not_found", `There is no job ${id}.`);
}

function ignore(): void {
  // Connection errors reach the caller through the call that fails.
}
