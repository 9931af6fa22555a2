import type { JobKind, QueueName } from "./types.js";

/** Every kind of job, which is also every role of a worker. */
export const JOB_KINDS = ["query", "insert", "score", "maintain"] as const satisfies readonly JobKind[];

/** The queues that a worker of a role works on. Deliveries are few and wait for others most of the time. */
const QUEUES_OF: Readonly<Record<JobKind, readonly QueueName[]>> = {
  query: ["query"],
  insert: ["insert"],
  score: ["score"],
  maintain: ["maintain", "deliver"],
};

/** The queues of some roles. */
export function queuesOf(roles: readonly JobKind[]): readonly QueueName[] {
  return roles.flatMap((role) => QUEUES_OF[role]);
}

/**
 * The job names of each queue. A worker that runs a queue has exactly one handler for each of its names, or it does not
 * start. Queues with several names tell them apart by `task` in the payload.
 */
export const JOB_NAMES = {
  query: ["query"],
  insert: ["insert"],
  score: ["embed-fields", "embed-rows"],
  maintain: ["retext", "reembed", "reconcile"],
  deliver: ["deliver"],
} as const satisfies Record<QueueName, readonly string[]>;

/** The name of any job. */
export type JobName = (typeof JOB_NAMES)[QueueName][number];

/**
 * Jobs of the deployment itself: no tenant submitted them, so they have no status, and nobody waits for them. Their work is
 * written down elsewhere (the outbox, the deliveries), so one that is lost is made again from there.
 */
const INTERNAL: ReadonlySet<string> = new Set<JobName>(["embed-rows", "deliver"]);

/** Whether jobs of that name have no status. */
export function isInternal(name: string): boolean {
  return INTERNAL.has(name);
}

/** The name under which a payload is queued: its `task`, else the kind itself. A wrong task is the worker's to refuse. */
export function jobNameOf(kind: JobKind, payload: unknown): string {
  if (typeof payload === "object" && payload !== null && "task" in payload && typeof payload.task === "string") {
    return payload.task;
  }
  return kind;
}
