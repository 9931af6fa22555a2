import { z } from "zod";
import { ERRORS, type ErrorCode } from "#core";

const codes = Object.keys(ERRORS) as [ErrorCode, ...ErrorCode[]];

const members = {
  type: z.string(),
  title: z.string(),
  status: z.number().int(),
  detail: z.string(),
  code: z.enum(codes).meta({ id: "ErrorCode" }),
  advice: z.string().optional(),
  errors: z
    .array(z.strictObject({ path: z.string(), message: z.string() }))
    .optional()
    .meta({ description: "Every problem of the request with its path." }),
  line: z.number().int().optional().meta({ description: "Of a query, from 1." }),
  column: z.number().int().optional().meta({ description: "Of a query, from 1." }),
  caret: z.string().optional().meta({ description: "The query's line with a caret under the place." }),
};

/** RFC 9457 problem details. */
export const problemShape = z.looseObject({ ...members, requestId: z.string() }).meta({ id: "Problem" });

/** The problem that a job ended with; it belongs to no request. */
export const jobErrorShape = z.looseObject(members).meta({ id: "JobError" });
