import { EspalierError, ERRORS, type ErrorCode } from "#core";
import type { Outbox, Outstanding } from "../ports/outbox.js";

/** A job that waits for outbox rows: its own, or those of the job whose effects it has (a replay). */
export interface WaitingJob {
  readonly tenant: string;
  readonly job: string;
  readonly waitsFor?: string;
}

/** How such a job ends. */
type Outcome =
  | { readonly state: "completed" }
  | {
      readonly state: "failed" | "dead";
      readonly error: {
        readonly code: ErrorCode;
        readonly message: string;
        readonly details: Readonly<Record<string, unknown>>;
      };
    };

/** Where jobs wait. Both repeat safely, and do nothing for a job that does not wait (any more, or yet). */
export interface JobsInWaiting {
  /** Tells how many rows are left. */
  progress(job: WaitingJob, left: number): Promise<void>;
  /** True if it ended by this. */
  release(job: WaitingJob, outcome: Outcome): Promise<boolean>;
}

/**
 * Ends those of the jobs whose rows are all done. Run after each claim for the jobs of its rows. Answers how many ended. One
 * statement, which does not count rows, and one call per job that ends.
 */
export async function completeJobs(
  outbox: Pick<Outbox, "unfinished">,
  waiting: Pick<JobsInWaiting, "release">,
  jobs: readonly WaitingJob[],
): Promise<number> {
  if (jobs.length === 0) return 0;
  const unfinished = await outbox.unfinished(jobs.map(ownerOf));
  const done = jobs.filter((job) => !unfinished.has(ownerOf(job).job));
  const ended = await Promise.all(done.map((job) => waiting.release(job, { state: "completed" })));
  return ended.filter(Boolean).length;
}

/**
 * Ends those of the jobs whose rows are all done, and those with a row that was given up: the nodes of such an insert are
 * stored, but not all of them can be found by meaning, and its caller should know. Tells the others' progress. Run where a
 * row failed, and now and then for all that wait. Answers how many ended. One statement, O(rows), and one call per job.
 */
export async function followJobs(
  outbox: Pick<Outbox, "outstanding">,
  waiting: JobsInWaiting,
  jobs: readonly WaitingJob[],
): Promise<number> {
  if (jobs.length === 0) return 0;
  const outstanding = await outbox.outstanding(jobs.map(ownerOf));
  const ended = await Promise.all(
    jobs.map(async (job) => {
      const left = outstanding.get(ownerOf(job).job);
      if (left === undefined) return waiting.release(job, { state: "completed" });
      if (left.failed > 0) return waiting.release(job, failureOf(left));
      await waiting.progress(job, left.rows);
      return false;
    }),
  );
  return ended.filter(Boolean).length;
}

/** The job whose rows are waited for. */
function ownerOf({ tenant, job, waitsFor }: WaitingJob): { readonly tenant: string; readonly job: string } {
  return { tenant, job: waitsFor ?? job };
}

function failureOf({ failed, error }: Outstanding): Outcome {
  const code = error !== undefined && isCode(error.code) ? error.code : "internal";
  const message = `The nodes are stored, but ${failed} of their texts could not be embedded: ${error?.message ?? "no reason is known"}`;
  const { kind, details } = new EspalierError(code, message, { details: { failed } });
  return { state: kind.retryable ? "dead" : "failed", error: { code, message, details } };
}

function isCode(code: string): code is ErrorCode {
  return Object.hasOwn(ERRORS, code);
}
