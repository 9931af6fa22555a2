import type { z } from "zod";
import { EspalierError } from "#core";
import { insertPayload, insertPayloads } from "#jobs";
import { checkInsert, type Memory } from "#memory";
import { validateBody } from "../http/validate.js";
import type { InsertBody } from "../wire/insert.js";

/** What an insert can bring; exactly one of them. */
const KINDS = ["tree", "xml", "messages"] as const;

/**
 * The body of an insert, with everything checked that needs no store, so that bad input is refused before a job exists.
 * @throws EspalierError `malformed_json`, `invalid_request`, and what `checkInsert` throws
 */
export function parseInsert(body: unknown, memory: Pick<Memory, "structure">): InsertBody {
  const payload = validateBody(schemaOf(body), body);
  checkInsert(payload, memory);
  return payload;
}

/** The schema of the kind that a body brings, so that its problems are those of that kind. */
function schemaOf(body: unknown): z.ZodType<InsertBody> {
  if (typeof body !== "object" || body === null || Array.isArray(body)) return insertPayload;
  const [kind, ...others] = KINDS.filter((each) => Object.hasOwn(body, each));
  if (kind !== undefined && others.length === 0) return insertPayloads[kind];
  const message = `must have exactly one of ${KINDS.join(", ")}`;
  throw new EspalierError("invalid_request", `the body: ${message}`, { details: { errors: [{ path: "", message }] } });
}
