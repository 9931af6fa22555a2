import { createHash } from "node:crypto";
import type { JobKind, QueueName } from "./types.js";

/**
 * Names of everything that jobs keep in Redis. What one script touches shares a hash tag where Redis is a cluster, which keeps it in
 * one slot: the tenant for status, events, list and idempotency keys, the queue for BullMQ's own. The tenant is in every
 * key of a job, also in BullMQ's, through the job id there.
 */
export interface JobKeys {
  /** Beginning of all keys of a tenant, which scripts take apart: the tenant is its hash tag (script-parts.ts). */
  own(tenant: string): string;
  job(tenant: string, id: string): string;
  events(tenant: string, id: string): string;
  /** Sorted set of the tenant's job ids; ids are time-ordered, so the lexical order is the order of creation. */
  list(tenant: string): string;
  idempotency(tenant: string, key: string): string;
  /** Hash of how many idempotency keys of requests are remembered (see requests/request-scripts.ts). */
  idempotencyCounts(tenant: string): string;
  /** Beginning of the keys of what the tenant used on each day (see usage/count-script.ts). */
  usage(tenant: string): string;
  /** Token bucket of the tenant's requests. */
  bucket(tenant: string): string;
  /** Sorted set of the tenant's jobs that were given up, by when. */
  letters(tenant: string): string;
  /** BullMQ's `prefix` of a queue. */
  queuePrefix(queue: QueueName): string;
  /** Hash of the tenant's webhooks, and the beginning of all keys of their deliveries (see webhooks/notify-script.ts). */
  webhooks(tenant: string): string;
  /** Sorted set of webhooks with something to deliver, by when to look at them. */
  readonly webhookTimes: string;
  /** Set of all webhooks of the deployment. In the slot of `webhookTimes`. */
  readonly webhookList: string;
  /** Beginning of all keys of a lane of admission. */
  lane(name: string): string;
  /** Sorted set of dead jobs of a queue by the time they died. */
  dead(kind: JobKind): string;
  /** Channel on which a process is woken about the jobs that it watches. */
  wake(process: string): string;
  /** Channel on which every worker hears of cancellations. */
  readonly control: string;
  /** Channel on which every API process hears that keys or tenants have changed. */
  readonly access: string;
}

/** Makes the names under a prefix. */
export function jobKeys(prefix: string): JobKeys {
  return {
    own: (tenant) => `${prefix}:{${tenant}}:`,
    job: (tenant, id) => `${prefix}:{${tenant}}:status:${id}`,
    events: (tenant, id) => `${prefix}:{${tenant}}:events:${id}`,
    list: (tenant) => `${prefix}:{${tenant}}:jobs`,
    letters: (tenant) => `${prefix}:{${tenant}}:letters`,
    usage: (tenant) => `${prefix}:{${tenant}}:usage`,
    bucket: (tenant) => `${prefix}:{${tenant}}:bucket`,
    // Hashed: a client's key can be long and hold anything.
    idempotency: (tenant, key) =>
      `${prefix}:{${tenant}}:idempotency:${createHash("sha256").update(key).digest("base64url")}`,
    idempotencyCounts: (tenant) => `${prefix}:{${tenant}}:idempotency-counts`,
    webhooks: (tenant) => `${prefix}:{${tenant}}:webhooks`,
    webhookTimes: `{${prefix}-webhooks}:times`,
    webhookList: `{${prefix}-webhooks}:list`,
    queuePrefix: (queue) => `{${prefix}-${queue}}`,
    lane: (name) => `{${prefix}-lane-${name}}`,
    dead: (kind) => `{${prefix}-${kind}}:dead`,
    wake: (process) => `${prefix}:wake:${process}`,
    control: `${prefix}:control`,
    access: `${prefix}:access`,
  };
}

/** The id of a job in its queue. Neither part contains the separator. */
export function queueJobId(tenant: string, id: string): string {
  return `${tenant}.${id}`;
}

/** Key of a payload or a result that is kept by reference. A result's names its attempt: an old one never replaces a newer. */
export function blobKey(id: string, what: "payload" | `result-${number}`): string {
  return `job/${id}/${what}`;
}
