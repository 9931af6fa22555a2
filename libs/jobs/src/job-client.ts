import type { Redis } from "ioredis";
import { EspalierError, type Clock, type IdSource } from "#core";
import { Admission } from "./admission/admission.js";
import { Sweeper } from "./admission/sweeper.js";
import type { ClientParts } from "./client/client-parts.js";
import { JobSubmits, type SubmitLimits } from "./client/job-submits.js";
import { JobWaits } from "./client/job-waits.js";
import { QueueReadings, type QueueAges } from "./client/queue-readings.js";
import { jobNotFound } from "./job-not-found.js";
import { blobKey, jobKeys, queueJobId, type JobKeys } from "./keys.js";
import { fullRecordOf, hashOf, isEnded, STATUS_FIELDS, recordOf, type JobHash } from "./record.js";
import { bounded, connectRedis, isCluster } from "./redis.js";
import { endAnswer, runScript } from "./scripts.js";
import { JOB_SETTINGS, keepEnded, type JobSettings } from "./settings.js";
import { StatusWrites } from "./status-writes.js";
import type { JobClient, JobEvent, JobKind, JobRecord, PayloadStore, SubmitRequest } from "./types.js";
import { DeliveryQueue } from "./webhooks/delivery-queue.js";

export type { QueueAges };

/** Jobs of a list that are read at once. */
const LIST_CHUNK = 100;

export interface JobClientOptions {
  /** `redis://…`, `rediss://…`, `unix:///path` or the path of a unix socket. */
  readonly redis: string;
  readonly payloadStore: PayloadStore;
  readonly clock: Clock;
  readonly ids: IdSource;
  /** What a tenant may have in each lane; absent: what the settings of the lanes say, for every tenant. */
  readonly limits?: ((tenant: string) => Promise<SubmitLimits>) | undefined;
  readonly settings?: Partial<JobSettings>;
}

/**
 * The jobs of a process that submits and follows them. Returns at once, also when Redis is down: calls then answer
 * `queue_unavailable` until it is back. Holds two connections (commands and one subscription) whatever the number of
 * waiters. A submit is two commands in one round trip, which several share that come at once; with an idempotency key two
 * round trips.
 */
export function createJobClient(options: JobClientOptions): JobClient & QueueAges {
  return new RedisJobClient(options);
}

class RedisJobClient implements JobClient, QueueAges {
  readonly #options: JobClientOptions;
  readonly #settings: JobSettings;
  readonly #keys: JobKeys;
  readonly #redis: Redis;
  readonly #admission: Admission;
  readonly #deliveries: DeliveryQueue;
  readonly #sweeper: Sweeper;
  readonly #submits: JobSubmits;
  readonly #waits: JobWaits;
  readonly #readings: QueueReadings;

  constructor(options: JobClientOptions) {
    this.#options = options;
    this.#settings = { ...JOB_SETTINGS, ...options.settings };
    this.#keys = jobKeys(this.#settings.prefix);
    this.#redis = connectRedis(options.redis, "producer");
    const own = { redis: this.#redis, keys: this.#keys, settings: this.#settings };
    const cluster = isCluster(options.redis);
    const writes = new StatusWrites({ ...own, cluster });
    this.#admission = new Admission({ ...own, writes });
    this.#deliveries = new DeliveryQueue(this.#redis, this.#settings);
    this.#sweeper = new Sweeper(() => this.#call(() => this.#admission.sweep()), this.#settings.sweepMs);
    const parts: ClientParts = {
      ...{ ...own, writes, admission: this.#admission },
      ...{ clock: options.clock, payloadStore: options.payloadStore, channel: this.#keys.wake(crypto.randomUUID()) },
      call: (calls) => this.#call(calls),
      get: (tenant, id) => this.get(tenant, id),
    };
    this.#submits = new JobSubmits({ ...parts, cluster, limits: options.limits });
    this.#waits = new JobWaits(parts, connectRedis(options.redis, "subscriber"));
    this.#readings = new QueueReadings(parts);
  }

  async submit(request: SubmitRequest): Promise<JobRecord> {
    const id = this.#options.ids("job");
    return (await this.#submits.enqueue({ ...request, id })).record;
  }

  async submitAndWait(request: SubmitRequest, waitMs: number, signal?: AbortSignal): Promise<JobRecord> {
    const id = this.#options.ids("job");
    const waiting = this.#waits.awaitEnd({ tenant: request.tenant, id }, waitMs, signal);
    try {
      const { record, fresh } = await this.#submits.enqueue({ ...request, id, watched: true });
      waiting.begun();
      return fresh ? await this.#waits.endOf(record, waiting) : await this.#waits.waitAgain(record, waitMs, signal);
    } finally {
      waiting.stop();
    }
  }

  async get(tenant: string, id: string): Promise<JobRecord> {
    const hash = await this.#call(() => this.#redis.hgetall(this.#keys.job(tenant, id)));
    if (hash["state"] === undefined) throw jobNotFound(id);
    return fullRecordOf({ tenant, id }, hash, this.#options.payloadStore);
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
    const token = queueJobId(tenant, id);
    const error = { code: "cancelled", message: "The job was cancelled while it was queued.", details: {} };
    const keep = keepEnded(this.#settings, "cancelled");
    const reply = await this.#call(() =>
      runScript(
        this.#redis,
        "jobCancel",
        [this.#keys.job(tenant, id)],
        [this.#options.clock.now(), keep.ms, JSON.stringify(error), this.#settings.eventsPerJob, keep.bytes],
      ),
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
      if (outcome === "queued") await this.#submits.leaveQueue(record);
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
    if (hash["replayPlaced"] !== undefined) throw jobNotFound(chosen);
    const { memory, kind, replayOf } = recordOf({ tenant, id }, hash);
    const origin = replayOf ?? id;
    const version = Number(hash["payloadVersion"] ?? 1);
    // Whoever asks at the same time submits the same job: that is one job.
    try {
      const payload = await this.#payloadOf(tenant, id, hash);
      const again = { id: chosen, kind, tenant, memory, payload, origin, version };
      const { record } = await this.#submits.enqueue(again);
      await this.#call(() => runScript(this.#redis, "jobReplayed", [this.#keys.job(tenant, id)], []));
      return record;
    } catch (error) {
      const isNone = error instanceof EspalierError && ["queue_full", "job_not_found"].includes(error.code);
      if (isNone) await this.#unchoose(tenant, id, chosen);
      throw error;
    }
  }

  /** A replay that was refused a place, or has no payload any more, is none: the job is a dead letter as before. */
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
    return this.#waits.events(tenant, id, options);
  }

  counts(): ReturnType<JobClient["counts"]> {
    return this.#readings.counts();
  }

  oldestMs(): ReturnType<QueueAges["oldestMs"]> {
    return this.#readings.oldestMs();
  }

  backlog(): ReturnType<QueueAges["backlog"]> {
    return this.#readings.backlog();
  }

  async ping(): Promise<void> {
    await this.#call(() => this.#redis.ping());
  }

  async close(): Promise<void> {
    this.#sweeper.stop();
    this.#waits.close();
    await this.#admission.close();
    await this.#deliveries.close();
    this.#redis.disconnect();
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
      Promise.all(ids.map((id) => this.#redis.hmget(this.#keys.job(tenant, id), ...STATUS_FIELDS))),
    );
    return replies.flatMap((reply, at) => {
      const flat = reply.flatMap((value, index) => (value === null ? [] : [STATUS_FIELDS[index] ?? "", value]));
      const hash = hashOf(flat);
      return hash === undefined ? [] : [recordOf({ tenant, id: ids[at] ?? "" }, hash)];
    });
  }

  #call<T>(calls: () => Promise<T>): Promise<T> {
    return bounded(this.#redis, this.#settings, calls);
  }
}

function heldAlready(id: string): EspalierError {
  const message = `What the job ${id} does is stored and cannot be cancelled; it ends when the rest of it is computed.`;
  return new EspalierError("job_finished", message);
}

function ignore(): void {
  // Connection errors reach the caller through the call that fails.
}
