import type { z } from "zod";
import { EspalierError, type MemoryScope } from "#core";
import type { JobContext, NamedHandler } from "#jobs";

/** The handlers of one queue. */
export interface Processor {
  readonly handlers: readonly NamedHandler[];
}

/** The memory that a job is about. */
export function scopeOf({ tenant, memory }: Pick<JobContext, "tenant" | "memory">): MemoryScope {
  return { tenant, memory };
}

/**
 * A job's payload in its shape, with its defaults. It was checked when it was submitted, perhaps by another version.
 * @throws EspalierError `invalid_request`
 */
export function readPayload<Shape extends z.ZodType>(shape: Shape, payload: unknown): z.output<Shape> {
  const read = shape.safeParse(payload);
  if (read.success) return read.data;
  const errors = read.error.issues.map(({ path, message }) => ({ path: path.join("."), message }));
  throw new EspalierError("invalid_request", "The payload of the job does not fit its schema.", {
    details: { errors },
  });
}
