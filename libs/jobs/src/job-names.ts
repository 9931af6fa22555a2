import type { JobKind, QueueName } from "./types.js";

/** Every kind of job, which is also every role of a worker. */
export const JOB_KINDS = ["query", "insert", "score", "maintain"] as const satisfies readonly JobKind[];

/**
 * The queues that a worker of a role works on. Claims of rows have a queue and slots of their own: neither wait they behind the
 * jobs of an eager tenant, nor do those starve behind a backlog. Deliveries are few and wait for others most of the time.
 */
const QUEUES_OF: Readonly<Record<JobKind, readonly QueueName[]>> = {
  query: ["query"],
  insert: ["insert"],
  score: ["score", "rows"],
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
  score: ["embed-fields"],
  rows: ["embed-rows"],
  maintain: ["retext", "reembed", "reconcile"],
  deliver: ["deliver"],
} as const satisfies Record<QueueName, readonly string[]>;

/** The name of any job. */
export type JobName = (typeof JOB_NAMES)[QueueName][number];

/**
 * Whether a queue has jobs that tenants submit: they pass by admission and have a status. Those of the other queues are the
 * deployment's own. Nobody waits for them, and their work is written down elsewhere (the outbox, the deliveries), so one that is
 * lost is made again from there.
 */
export function isJobKind(queue: QueueName): queue is JobKind {
  return (JOB_KINDS as readonly QueueName[]).includes(queue);
}

/** The name under which a payload is queued: its `task`, else the kind itself. A wrong task is the worker's to refuse. */
export function jobNameOf(kind: JobKind, payload: unknown): string {
  if (typeof payload === "object" && payload !== null && "task" in payload && typeof payload.task === "string") {
    return payload.task;
  }
  return kind;
}
