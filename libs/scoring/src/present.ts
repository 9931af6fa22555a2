import { EspalierError } from "#core";

/** A value that must be there: what would be a bug elsewhere fails here, and not as NaN in a result. */
export function present<T>(value: T | undefined): T {
  if (value === undefined) throw new EspalierError("internal", "A value that scoring relies on is missing.");
  return value;
}
