import { EspalierError, LIMITS } from "#core";
import { abortError, throwIfAborted } from "#scoring";
import { setTimeout as pause } from "node:timers/promises";
import pRetry from "p-retry";
import { failureOfAnswer, failureOfThrow, type ServerAnswer, type ServerFailure } from "./server-failure.js";

/** Patience with a server. */
export interface Patience {
  /** Milliseconds that one request may take. */
  readonly timeoutMs: number;
  /** Requests after the first. */
  readonly retries: number;
  /** First pause of those that the server does not time; it doubles. */
  readonly pauseMs: number;
}

/** What the limits say. */
export const PATIENCE: Patience = {
  timeoutMs: LIMITS.modelRequestMs,
  retries: LIMITS.modelRequestRetries,
  pauseMs: 250,
};

/** Thrown by a request for an answer that is not 2xx. */
export class AnswerError extends Error {
  constructor(readonly answer: ServerAnswer) {
    super(`HTTP ${answer.status}`);
  }
}

/** What p-retry throws about: a failure that may be worth another request. */
class FailedRequest extends Error {
  constructor(readonly failure: ServerFailure) {
    super(failure.error.message, { cause: failure.error });
  }
}

/**
 * One request to a model server with time-out, retries of what passes by itself (see server-failure.ts) and cancellation.
 * `request` gets the signal of its attempt and throws `AnswerError` for an answer that is not 2xx.
 * @throws an error of the registry, or `InputTooLargeError`.
 */
export async function callServer<T>(
  server: string,
  request: (signal: AbortSignal) => Promise<T>,
  options: { readonly patience: Patience; readonly signal?: AbortSignal | undefined },
): Promise<T> {
  const { patience, signal } = options;
  throwIfAborted(signal);
  try {
    return await pRetry(() => attempt(server, request, options), {
      retries: patience.retries,
      minTimeout: patience.pauseMs,
      factor: 2,
      ...(signal !== undefined && { signal }),
      shouldRetry: ({ error }) => error instanceof FailedRequest && worthWaiting(error.failure),
      onFailedAttempt: async ({ error, retriesLeft, retryDelay }) => {
        if (!(error instanceof FailedRequest) || retriesLeft === 0 || !worthWaiting(error.failure)) return;
        const more = (error.failure.retryAfterMs ?? 0) - retryDelay;
        if (more > 0) await pause(more, undefined, signal === undefined ? {} : { signal });
      },
    });
  } catch (thrown) {
    if (signal?.aborted === true) throw abortError(signal);
    throw thrown instanceof FailedRequest ? thrown.failure.error : thrown;
  }
}

/** A pause longer than a running job should hold is left to the job's own retries. */
const worthWaiting = ({ again, retryAfterMs }: ServerFailure): boolean =>
  again && (retryAfterMs ?? 0) <= LIMITS.modelRetryAfterMs;

async function attempt<T>(
  server: string,
  request: (signal: AbortSignal) => Promise<T>,
  options: { readonly patience: Patience; readonly signal?: AbortSignal | undefined },
): Promise<T> {
  const { timeoutMs } = options.patience;
  const timeout = AbortSignal.timeout(timeoutMs);
  const signal = options.signal === undefined ? timeout : AbortSignal.any([options.signal, timeout]);
  try {
    return await untilAborted(request(signal), signal);
  } catch (thrown) {
    if (options.signal?.aborted === true) throw thrown;
    if (timeout.aborted) {
      const error = new EspalierError("model_timeout", `${server} did not answer within ${timeoutMs} ms.`, {
        details: { server, timeoutMs },
      });
      throw new FailedRequest({ error, again: false });
    }
    throw new FailedRequest(
      thrown instanceof AnswerError ? failureOfAnswer(server, thrown.answer) : failureOfThrow(server, thrown),
    );
  }
}

/** Also ends when a library goes on reading a body that never comes. */
function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => {
      reject(new Error("The request was given up.", { cause: signal.reason }));
    };
    signal.addEventListener("abort", onAbort, { once: true });
    void work.then(resolve, reject).finally(() => {
      signal.removeEventListener("abort", onAbort);
    });
  });
}
