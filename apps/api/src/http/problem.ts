import { ERRORS, EspalierError, type ErrorCode, type ErrorKind } from "#core";

/** RFC 9457 problem details with our members. */
export interface Problem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly code: ErrorCode;
  readonly advice: string;
  readonly [member: string]: unknown;
}

/** Media type of every error. */
export const PROBLEM_MEDIA_TYPE = "application/problem+json; charset=utf-8";

/** Seconds that a client is asked to stay away when the error says nothing better. */
const DEFAULT_RETRY_AFTER_SECONDS = 2;

/**
 * Things of other tenants must answer exactly as things that do not exist, whichever layer noticed: these codes have one
 * fixed sentence and no details.
 */
const UNIFORM_DETAIL: Partial<Readonly<Record<ErrorCode, string>>> = {
  memory_not_found: "There is no such memory.",
  job_not_found: "There is no such job.",
  webhook_not_found: "There is no such webhook.",
  delivery_not_found: "There is no such delivery.",
  key_not_found: "There is no such API key.",
};

/** Characters of a sentence or a path in a problem: what was sent is not sent back at length. */
const PROBLEM_CHARACTERS = 200;

function cut(text: string): string {
  return text.length <= PROBLEM_CHARACTERS ? text : `${text.slice(0, PROBLEM_CHARACTERS - 1).toWellFormed()}…`;
}

/** `caret` shows a line of a query, whose length is bounded, and points into it. */
function cutDetails(details: Failure["details"]): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(details).map(([name, value]) => [name, name === "caret" ? value : cutValue(value)]),
  );
}

function cutValue(value: unknown): unknown {
  if (typeof value === "string") return cut(value);
  if (Array.isArray(value)) return value.map(cutValue);
  return typeof value === "object" && value !== null ? cutDetails(value as Failure["details"]) : value;
}

/** The parts of an error that travel: what was thrown, or what a job kept of it. */
export type Failure = Pick<EspalierError, "code" | "message" | "details">;

/** The problem of a failure. `requestId` is absent for the error inside a job. */
export function problemOf(failure: Failure, requestId?: string): Problem {
  const kind: ErrorKind = ERRORS[failure.code];
  const uniform = UNIFORM_DETAIL[failure.code];
  return {
    ...(uniform === undefined && cutDetails(failure.details)),
    type: `urn:espalier:error:${failure.code}`,
    title: kind.title,
    status: kind.status,
    detail: uniform ?? cut(failure.message),
    code: failure.code,
    advice: kind.advice,
    ...(requestId !== undefined && { requestId }),
  };
}

/** Headers that an error answers with. */
export function problemHeaders(failure: Failure): Readonly<Record<string, string>> {
  const kind: ErrorKind = ERRORS[failure.code];
  const seconds = failure.details["retryAfterSeconds"];
  const allow = failure.details["allow"];
  return {
    "content-type": PROBLEM_MEDIA_TYPE,
    ...((kind.status === 429 || (kind.status === 503 && kind.retryable)) && {
      "retry-after": String(typeof seconds === "number" ? Math.ceil(seconds) : DEFAULT_RETRY_AFTER_SECONDS),
    }),
    ...(kind.status === 401 && { "www-authenticate": 'Bearer realm="espalier"' }),
    ...(Array.isArray(allow) && { allow: allow.join(", ") }),
  };
}
