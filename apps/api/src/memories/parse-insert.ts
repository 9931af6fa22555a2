import { EspalierError } from "#core";
import { checkInsert, type Memory } from "#memory";
import { validateBody } from "../http/validate.js";
import { insertBody, type InsertBody } from "../wire/insert.js";

/** What an insert can bring; exactly one of them. */
const KINDS = ["tree", "xml", "messages"] as const;

/**
 * The body of an insert, with everything checked that needs no store, so that bad input is refused before a job exists.
 * @throws EspalierError `malformed_json`, `invalid_request`, and what `checkInsert` throws
 */
export function parseInsert(body: unknown, memory: Pick<Memory, "structure">): InsertBody {
  if (typeof body === "object" && body !== null && !Array.isArray(body)) {
    const given = KINDS.filter((kind) => Object.hasOwn(body, kind));
    if (given.length !== 1) {
      const message = `must have exactly one of ${KINDS.join(", ")}`;
      throw new EspalierError("invalid_request", `the body: ${message}`, {
        details: { errors: [{ path: "", message }] },
      });
    }
  }
  const payload = validateBody(insertBody, body);
  checkInsert(payload, memory);
  return payload;
}
