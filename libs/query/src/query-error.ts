import { EspalierError, type ErrorCode } from "#core";
import { locate } from "./source-location.js";

/** What an error about a place in a query says. */
export interface QueryProblem {
  readonly code: ErrorCode;
  /** A sentence without its place, which is put in front. */
  readonly message: string;
  /** Offset in the text, UTF-16 units. */
  readonly offset: number;
  /** What could stand there, in words or as written. */
  readonly expected: readonly string[];
  /** Further details for the caller. */
  readonly details?: Readonly<Record<string, unknown>>;
}

/** The registry error of a place in a query: its details carry `line`, `column`, `caret` and `expected`. */
export function queryError(text: string, problem: QueryProblem): EspalierError {
  const { line, column, caret } = locate(text, problem.offset);
  return new EspalierError(problem.code, `Line ${line}, column ${column}: ${problem.message}`, {
    details: { line, column, caret, expected: problem.expected, ...problem.details },
  });
}
