import type { IncomingMessage } from "node:http";
import { randomUUID } from "node:crypto";

/** What a caller may choose as the id of its request: it goes into logs and headers. */
const REQUEST_ID = /^[\w.:-]{1,128}$/;

/** The caller's `x-request-id`, or a fresh one. */
export function requestIdOf(request: Pick<IncomingMessage, "headers">): string {
  const given = request.headers["x-request-id"];
  return typeof given === "string" && REQUEST_ID.test(given) ? given : randomUUID();
}
