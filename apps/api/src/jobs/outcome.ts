import type { FastifyReply } from "fastify";
import { ERRORS, EspalierError } from "#core";
import type { JobRecord } from "#jobs";
import { jobToWire } from "../wire/job.js";

/** The error that an ended job answers the waiting request with. A code that only a newer worker knows is `internal`. */
function failureOf(record: JobRecord): EspalierError {
  const error = record.error ?? { code: "internal" as const, message: "The job ended without a reason.", details: {} };
  const code = Object.hasOwn(ERRORS, error.code) ? error.code : "internal";
  return new EspalierError(code, error.message, { details: { ...error.details, job: record.id } });
}

/** Where a job is followed. */
export function jobPath(id: string): string {
  return `/v1/jobs/${id}`;
}

/**
 * What a request that waited for its job answers: the job's error as a problem, 200 when it has completed, else 202 with
 * the job and where to follow it.
 * @throws EspalierError the job's error
 */
export function answerJob(record: JobRecord, reply: FastifyReply, completed: (record: JobRecord) => unknown): unknown {
  switch (record.state) {
    case "completed":
      void reply.status(200);
      return completed(record);
    case "failed":
    case "dead":
    case "cancelled":
      throw failureOf(record);
    case "queued":
    case "active":
      void reply.status(202).header("location", jobPath(record.id));
      return jobToWire(record);
  }
}
