import { EspalierError } from "#core";

/** The error of work that was given up: the signal's own reason if it is one of ours, else `cancelled`. */
export function abortError(signal: AbortSignal): EspalierError {
  const reason: unknown = signal.reason;
  return reason instanceof EspalierError
    ? reason
    : new EspalierError("cancelled", "The work was cancelled while it waited for a model.", { cause: reason });
}

/** @throws the signal's error if it is aborted. */
export function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted === true) throw abortError(signal);
}
