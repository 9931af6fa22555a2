import { EspalierError } from "#core";

/** A new idempotency key is refused: the tenant has as many as are remembered. @param waitMs until the first of them expire */
export function tooManyKeys(
  counts: { readonly value: number | undefined; readonly current: number },
  waitMs: number,
): EspalierError {
  const message = `${counts.current} idempotency keys of the tenant are remembered, of ${counts.value} that may be.`;
  return new EspalierError("too_many_idempotency_keys", message, {
    details: { limit: "idempotencyKeys", ...counts, retryAfterSeconds: Math.ceil(waitMs / 1_000) },
  });
}
