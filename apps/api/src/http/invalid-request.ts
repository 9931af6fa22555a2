import { EspalierError } from "#core";

/** `invalid_request` for one value that fits its schema and is wrong all the same. */
export function invalidRequest(what: "body" | "query string", path: string, message: string): EspalierError {
  return new EspalierError("invalid_request", `${what} ${path}: ${message}`, {
    details: { errors: [{ path, message }] },
  });
}
