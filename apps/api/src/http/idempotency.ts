import { createHash } from "node:crypto";
import type { FastifyRequest } from "fastify";
import { EspalierError, LIMITS } from "#core";
import type { SubmitRequest } from "#jobs";

/** Printable ASCII: what a header can carry everywhere. */
const KEY = /^[\x21-\x7e]+$/;

/**
 * The idempotency key of a request with the fingerprint of what it asks: method, path and body.
 * @throws EspalierError `invalid_request`
 */
export function idempotencyOf(request: FastifyRequest): SubmitRequest["idempotency"] {
  const key = request.headers["idempotency-key"];
  if (key === undefined) return undefined;
  if (typeof key !== "string" || !KEY.test(key) || key.length > LIMITS.idempotencyKeyBytes) {
    throw new EspalierError(
      "invalid_request",
      `Idempotency-Key must be 1 to ${LIMITS.idempotencyKeyBytes} printable ASCII characters without spaces.`,
      { details: { errors: [{ path: "Idempotency-Key", message: "not a key" }] } },
    );
  }
  const path = request.url.split("?", 1)[0] ?? "";
  const fingerprint = createHash("sha256").update(`${request.method} ${path}\n${request.bodyHash}`).digest("hex");
  return { key, fingerprint };
}
