/**
 * Takes everything of a tenant out of Redis, in two steps that repeat safely and may be cut short anywhere:
 *
 * 1. `cancelJobs`: what waits for its turn never has one, what runs is told to stop. Answers when nothing runs any more, or
 *    with how many still do.
 * 2. `removeKeys`: every key with the tenant's hash tag, its jobs in the queues, and its entries in what tenants share.
 *
 * Keys are found by a walk through all of Redis, so that what somebody adds later under the tenant's tag goes too.
 */
import type { Queue } from "bullmq";
import { Cluster, type Redis } from "ioredis";
import { setTimeout as delay } from "node:timers/promises";
import { EspalierError } from "#core";
import { Admission } from "../admission/admission.js";
import type { Lane } from "../admission/lane.js";
import { driftKey } from "../background/sweeps.js";
import { heldKey } from "../held/held-jobs.js";
import type { JobData } from "../job-data.js";
import { JOB_KINDS, queuesOf } from "../job-names.js";
import { jobKeys, queueJobId, type JobKeys } from "../keys.js";
import { openQueue } from "../open-queue.js";
import { bounded, connectRedis } from "../redis.js";
import { JOB_SETTINGS, type JobSettings } from "../settings.js";
import type { JobClient, QueueName } from "../types.js";

/** Keys, members or jobs that one command asks for. */
const CHUNK = 500;

/** Calls in flight while jobs are cancelled. */
const AT_ONCE = 32;

/** Pace at which it is looked whether what runs has stopped. */
const LOOK_MS = 50;

/** What there is no end of is cancelled in so many rounds: new jobs come only while requests that were let in before end. */
const ROUNDS = 10;

/** Takes tenants out of Redis. Errors: `queue_unavailable`. */
export interface TenantEraser {
  /** Answers how many jobs were cancelled, and how many still run after `waitMs`. O(jobs of all tenants that wait or run). */
  cancelJobs(tenant: string, waitMs: number): Promise<{ readonly cancelled: number; readonly running: number }>;
  /** Answers how many keys and entries there were; those of jobs that still run stay. O(keys of this Redis). */
  removeKeys(tenant: string): Promise<number>;
  close(): Promise<void>;
}

/** Opens it over one connection. Returns at once, also when Redis is down. */
export function createTenantEraser(options: {
  /** As for `createJobClient`. */
  readonly redis: string;
  readonly settings?: Partial<JobSettings>;
  readonly jobs: Pick<JobClient, "cancel">;
}): TenantEraser {
  const settings = { ...JOB_SETTINGS, ...options.settings };
  const redis = connectRedis(options.redis, "producer", { commandTimeout: settings.callTimeoutMs });
  return new RedisTenantEraser(redis, settings, options.jobs);
}

class RedisTenantEraser implements TenantEraser {
  readonly #keys: JobKeys;
  readonly #admission: Admission;
  readonly #lanes: readonly Lane[];
  readonly #queues: ReadonlyMap<QueueName, Queue<JobData>>;

  constructor(
    private readonly redis: Redis,
    private readonly settings: JobSettings,
    private readonly jobs: Pick<JobClient, "cancel">,
  ) {
    this.#keys = jobKeys(settings.prefix);
    this.#admission = new Admission({ redis, keys: this.#keys, settings });
    this.#lanes = [...this.#admission.lanes.values()];
    this.#queues = new Map(queuesOf(JOB_KINDS).map((name) => [name, openQueue(redis, this.#keys, settings, name)]));
  }

  async close(): Promise<void> {
    await Promise.all([...this.#queues.values()].map((queue) => queue.close().catch(() => undefined)));
    await this.#admission.close();
    this.redis.disconnect();
  }

  cancelJobs(tenant: string, waitMs: number): Promise<{ readonly cancelled: number; readonly running: number }> {
    return this.#reached(() => this.#cancelJobs(tenant, waitMs));
  }

  removeKeys(tenant: string): Promise<number> {
    return this.#reached(() => this.#removeKeys(tenant));
  }

  async #cancelJobs(tenant: string, waitMs: number): Promise<{ readonly cancelled: number; readonly running: number }> {
    const deadline = Date.now() + waitMs;
    const cancelled = new Set<string>();
    for (let round = 0; round < ROUNDS; round += 1) {
      const ids = (await this.#admitted(tenant)).filter((id) => !cancelled.has(id));
      if (ids.length === 0) break;
      await this.#cancel(tenant, ids);
      for (const id of ids) cancelled.add(id);
    }
    for (;;) {
      const running = await this.#running(tenant);
      if (running === 0 || Date.now() > deadline) return { cancelled: cancelled.size, running };
      await delay(LOOK_MS);
    }
  }

  async #removeKeys(tenant: string): Promise<number> {
    let removed = 0;
    const own = `${this.settings.prefix}:{${tenant}}:`;
    for await (const keys of this.#scan()) {
      const tagged = keys.filter((key) => key.startsWith(own));
      // In one slot, as they share the tag.
      if (tagged.length > 0) removed += await this.redis.unlink(...tagged);
      for (const [name, queue] of this.#queues) removed += await this.#removeFrom({ name, queue, keys, tenant });
    }
    for (const name of this.#queues.keys()) removed += await this.#forgetEvents(name, tenant);
    return removed + (await this.#leaveShared(tenant));
  }

  /** Jobs of the tenant that wait in a lane or are in flight. */
  async #admitted(tenant: string): Promise<readonly string[]> {
    const tokens = await Promise.all(this.#lanes.map((lane) => lane.tokens()));
    return tokens.flat().flatMap((token) => (token.startsWith(`${tenant}.`) ? [token.slice(tenant.length + 1)] : []));
  }

  async #running(tenant: string): Promise<number> {
    const counts = await Promise.all(this.#lanes.map((lane) => lane.countOf(tenant)));
    return counts.reduce((sum, count) => sum + count, 0);
  }

  async #cancel(tenant: string, ids: readonly string[]): Promise<void> {
    for (let at = 0; at < ids.length; at += AT_ONCE) {
      await Promise.all(ids.slice(at, at + AT_ONCE).map((id) => this.#cancelJob(tenant, id)));
    }
  }

  /** A job that has ended, or whose status is gone, may still hold its place: a death came between. */
  async #cancelJob(tenant: string, id: string): Promise<void> {
    try {
      await this.jobs.cancel(tenant, id);
    } catch (error) {
      const isOver = error instanceof EspalierError && ["job_finished", "job_not_found"].includes(error.code);
      if (!isOver) throw error;
      await this.#admission.drop(queueJobId(tenant, id));
    }
  }

  async *#scan(): AsyncGenerator<readonly string[]> {
    const connection: unknown = this.redis;
    const nodes = connection instanceof Cluster ? connection.nodes("master") : [this.redis];
    for (const node of nodes) {
      let cursor = "0";
      do {
        const [next, keys] = await node.scan(cursor, "COUNT", CHUNK);
        if (keys.length > 0) yield keys;
        cursor = next;
      } while (cursor !== "0");
    }
  }

  /** Jobs in a queue: with their places in its lists. One that runs is its worker's to end. */
  async #removeFrom(of: {
    readonly name: QueueName;
    readonly queue: Queue<JobData>;
    readonly keys: readonly string[];
    readonly tenant: string;
  }): Promise<number> {
    const { name, queue, keys, tenant } = of;
    const own = `${this.#keys.queuePrefix(name)}:${name}:`;
    const ids = keys.flatMap((key) => {
      if (!key.startsWith(`${own}${tenant}.`)) return [];
      // Other keys of a job, as its lock, have names after its id.
      return [key.slice(own.length).split(":", 1)[0] ?? ""];
    });
    const removed = await Promise.all([...new Set(ids)].map((id) => queue.remove(id)));
    return removed.reduce((sum, count) => sum + count, 0);
  }

  /** What a queue tells those who look at it: its newest events, each with the id of a job. */
  async #forgetEvents(name: QueueName, tenant: string): Promise<number> {
    const key = `${this.#keys.queuePrefix(name)}:${name}:events`;
    const events = await this.redis.xrange(key, "-", "+");
    const own = events.flatMap(([id, fields]) => {
      const job = fields[fields.indexOf("jobId") + 1] ?? "";
      return job.startsWith(`${tenant}.`) ? [id] : [];
    });
    return own.length === 0 ? 0 : this.redis.xdel(key, ...own);
  }

  /** Its entries in what tenants share. */
  async #leaveShared(tenant: string): Promise<number> {
    const { prefix } = this.settings;
    let left = 0;
    const sortedSets = [
      ...JOB_KINDS.map((kind) => this.#keys.dead(kind)),
      heldKey({ prefix }),
      this.#keys.webhookTimes,
    ];
    for (const key of sortedSets) {
      const own = (await this.redis.zrange(key, "0", "-1")).filter((member) => member.startsWith(`${tenant}.`));
      if (own.length > 0) left += await this.redis.zrem(key, ...own);
    }
    const webhooks = (await this.redis.smembers(this.#keys.webhookList)).filter((one) => one.startsWith(`${tenant}.`));
    if (webhooks.length > 0) left += await this.redis.srem(this.#keys.webhookList, ...webhooks);
    const drift = (await this.redis.hkeys(driftKey({ prefix }))).filter((field) => field.startsWith(`${tenant}/`));
    if (drift.length > 0) left += await this.redis.hdel(driftKey({ prefix }), ...drift);
    for (const lane of this.#lanes) left += await lane.forget(tenant);
    return left;
  }

  /** @throws EspalierError `queue_unavailable` for what Redis refuses or does not answer */
  async #reached<T>(work: () => Promise<T>): Promise<T> {
    await bounded(this.redis, this.settings, () => this.redis.ping());
    try {
      return await work();
    } catch (error) {
      if (error instanceof EspalierError) throw error;
      const message = "Redis cannot be reached or refuses the command.";
      throw new EspalierError("queue_unavailable", message, { cause: error });
    }
  }
}
