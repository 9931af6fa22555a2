import type { JobKind } from "./types.js";

/** Every kind of job: one queue each. */
export const JOB_KINDS = ["query", "insert", "score", "maintain"] as const satisfies readonly JobKind[];

/**
 * The job names of each queue. A worker that runs a queue has exactly one handler for each of its names, or it does not
 * start. Queues with several names tell them apart by `task` in the payload.
 */
export const JOB_NAMES = {
  query: ["query"],
  insert: ["insert"],
  score: ["embed-fields", "embed-rows"],
  maintain: ["retext", "reembed", "reconcile"],
} as const satisfies Record<JobKind, readonly string[]>;

/** The name of any job. */
export type JobName = (typeof JOB_NAMES)[JobKind][number];

/**
 * Jobs of the deployment itself: they belong to no tenant, so they have no status, and nobody waits for them. Their work is
 * written down elsewhere (the outbox), so one that is lost is made again from there.
 */
const INTERNAL: ReadonlySet<string> = new Set<JobName>(["embed-rows"]);

/** Whether jobs of that name belong to no tenant. */
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
