import { EspalierError } from "#core";

/** Stops an evaluation that is no longer wanted: throws the signal's reason if it is an error of the registry, else `cancelled`. */
export function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted !== true) return;
  const reason: unknown = signal.reason;
  throw reason instanceof EspalierError
    ? reason
    : new EspalierError("cancelled", "The query was cancelled.", { cause: reason });
}
