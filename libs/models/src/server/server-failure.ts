/**
 * What a model server's answer means, the same for every protocol:
 *
 * | answer | error | tried again here |
 * |---|---|---|
 * | 429 | `model_overloaded`: back-pressure, not failure | after Retry-After, else a growing pause |
 * | 408, 5xx, 424, no connection | `model_unavailable` | after a growing pause |
 * | any of them that speaks of memory | `model_out_of_memory` | no: a smaller batch is |
 * | nothing in time | `model_timeout` | no: the job is |
 * | 413, or 400 and 422 that speak of length | `InputTooLargeError` | in parts |
 * | other 4xx, or a spent quota | `model_refused` | no |
 * | not JSON | `model_bad_output` | no |
 */
import { EspalierError } from "#core";

/** More input than the server takes in one request; the adapter splits it. */
export class InputTooLargeError extends Error {}

/** An answer that is not 2xx. */
export interface ServerAnswer {
  readonly status: number;
  readonly headers: Headers | undefined;
  /** The server's own words; they can repeat the input, so they never leave this file but for a few known phrases. */
  readonly text: string;
}

/** A failure with the pause that the server asks for. */
export interface ServerFailure {
  readonly error: EspalierError | InputTooLargeError;
  readonly again: boolean;
  readonly retryAfterMs?: number;
}

const MEMORY = /out of memory|outofmemory|bad_alloc|failed to allocate/i;
const LENGTH =
  /maximum context length|context length|context size|max(imum)? (input|sequence) length|too (long|large|many tokens)|must have less than|batch size|larger than the/i;
const QUOTA = /insufficient_quota/i;

/** Reads an answer that is not 2xx. `server` names it in messages. */
export function failureOfAnswer(server: string, answer: ServerAnswer): ServerFailure {
  const { status, headers, text } = answer;
  const details = { server, status };
  if (MEMORY.test(text)) {
    const error = new EspalierError("model_out_of_memory", `${server} ran out of memory (HTTP ${status}).`, {
      details,
    });
    return { error, again: false };
  }
  if (status === 413 || ((status === 400 || status === 422) && LENGTH.test(text))) {
    return {
      error: new InputTooLargeError(`${server} says that the input is too large (HTTP ${status}).`),
      again: false,
    };
  }
  if (status === 429 && !QUOTA.test(text)) {
    const retryAfterMs = readRetryAfterMs(headers);
    const error = new EspalierError("model_overloaded", `${server} is overloaded (HTTP 429).`, { details });
    return { error, again: true, ...(retryAfterMs !== undefined && { retryAfterMs }) };
  }
  if (status >= 500 || status === 424 || status === 408) {
    const retryAfterMs = readRetryAfterMs(headers);
    const error = new EspalierError("model_unavailable", `${server} failed (HTTP ${status}).`, { details });
    return { error, again: true, ...(retryAfterMs !== undefined && { retryAfterMs }) };
  }
  const error = new EspalierError("model_refused", `${server} refused the request (HTTP ${status}).`, { details });
  return { error, again: false };
}

/** Reads whatever a request threw that was not an answer. */
export function failureOfThrow(server: string, thrown: unknown): ServerFailure {
  if (thrown instanceof EspalierError || thrown instanceof InputTooLargeError) return { error: thrown, again: false };
  const details = { server };
  if (thrown instanceof SyntaxError) {
    const error = new EspalierError("model_bad_output", `${server} answered something that is not JSON.`, { details });
    return { error, again: false };
  }
  const error = new EspalierError("model_unavailable", `${server} cannot be reached.`, { details, cause: thrown });
  return { error, again: true };
}

/** Retry-After in seconds or as a date, `retry-after-ms` before it. */
function readRetryAfterMs(headers: Headers | undefined): number | undefined {
  const milliseconds = Number.parseFloat(headers?.get("retry-after-ms") ?? "");
  if (milliseconds >= 0) return milliseconds;
  const value = headers?.get("retry-after") ?? "";
  const seconds = Number.parseFloat(value);
  if (seconds >= 0) return seconds * 1_000;
  const until = Date.parse(value) - Date.now();
  return Number.isNaN(until) ? undefined : Math.max(0, until);
}
