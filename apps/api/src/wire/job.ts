import { z } from "zod";
import { LIMITS } from "#core";
import type { JobRecord } from "#jobs";
import { problemOf } from "../http/problem.js";
import { jobErrorShape } from "./problem.js";
import { instant, pageOf, paging } from "./text.js";

const kind = z.enum(["query", "insert", "score", "maintain"]);
const state = z.enum(["queued", "active", "completed", "failed", "dead", "cancelled"]);

/** A job as every answer shows it. */
export const jobShape = z
  .strictObject({
    id: z.string(),
    kind,
    state: state.meta({
      description:
        "`queued` also between attempts; `failed`: not retryable; `dead`: attempts spent. Never changes after completed, failed, dead or cancelled.",
    }),
    memory: z.string(),
    progress: z.strictObject({ done: z.number(), total: z.number() }),
    createdAt: instant,
    startedAt: instant.optional().meta({ description: "When its latest run began." }),
    finishedAt: instant.optional(),
    attempts: z.number().int(),
    result: z.unknown().optional().meta({ description: "Of a completed job; its shape is the kind's." }),
    error: jobErrorShape.optional(),
    firstError: jobErrorShape.optional().meta({ description: "Of the first attempt that failed." }),
    replayOf: z.string().optional().meta({ description: "The job whose work this one does again." }),
    replayedAs: z.string().optional().meta({ description: "The job that does the work of this one again." }),
  })
  .meta({ id: "Job" });
type JobShape = z.input<typeof jobShape>;

/** GET /v1/jobs. Lists leave results out. */
export const jobListQuery = paging.extend({
  memory: z.string().min(1).max(128).optional(),
  state: state.optional(),
  kind: kind.optional(),
  createdFrom: z.iso.datetime({ offset: true }).optional(),
  createdBefore: z.iso.datetime({ offset: true }).optional(),
});

const deadLetterFilter = { memory: z.string().min(1).max(128).optional(), kind: kind.optional() };

/** GET /v1/dead-letters. */
export const deadLetterListQuery = paging.extend(deadLetterFilter);

/** POST /v1/dead-letters/replay. Without a filter it is every letter that the key reaches. */
export const replayBody = z.strictObject({
  ...deadLetterFilter,
  limit: z.number().int().min(1).max(LIMITS.pageItems).default(100),
});

export const jobPage = pageOf(jobShape).meta({ id: "JobPage" });

export const replayedShape = z.strictObject({ items: z.array(jobShape) }).meta({ id: "ReplayedJobs" });

/** The result of a completed insert. */
const insertResultShape = z
  .strictObject({
    revision: z.number().int(),
    inserted: z.number().int(),
    roots: z.array(z.string()).meta({ description: "Ids of the inserted nodes that lie highest, in order." }),
  })
  .meta({ id: "InsertResult" });

/** An insert's job. */
export const insertJobShape = jobShape.extend({ result: insertResultShape.optional() }).meta({ id: "InsertJob" });

/** A job in its wire shape. */
export function jobToWire(record: JobRecord): JobShape {
  return {
    id: record.id,
    kind: record.kind,
    state: record.state,
    memory: record.memory,
    progress: { done: record.progress.done, total: record.progress.total },
    createdAt: new Date(record.createdAt).toISOString(),
    ...(record.startedAt !== undefined && { startedAt: new Date(record.startedAt).toISOString() }),
    ...(record.finishedAt !== undefined && { finishedAt: new Date(record.finishedAt).toISOString() }),
    attempts: record.attempts,
    ...(record.result !== undefined && { result: record.result }),
    ...(record.error !== undefined && { error: problemOf(record.error) }),
    ...(record.firstError !== undefined && { firstError: problemOf(record.firstError) }),
    ...(record.replayOf !== undefined && { replayOf: record.replayOf }),
    ...(record.replayedAs !== undefined && { replayedAs: record.replayedAs }),
  };
}
