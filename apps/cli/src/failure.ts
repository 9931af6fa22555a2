import { ConfigError, ERRORS, EspalierError } from "#core";
import { CommandError } from "./command-error.js";

/** The sentence of a failure that was foreseen; the whole error of one that was not. */
export function failureText(error: unknown): string {
  if (error instanceof CommandError || error instanceof EspalierError || error instanceof ConfigError) {
    return error.message;
  }
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

/** A failure as a problem (RFC 9457) for programs: the server's as it came, one of this machine in the same shape. */
export function failureProblem(error: unknown): object {
  if (error instanceof CommandError && error.problem !== undefined) return error.problem;
  const detail = error instanceof Error ? error.message : String(error);
  if (!(error instanceof EspalierError)) return { type: "about:blank", title: "The command failed", detail };
  const { code, details } = error;
  return { ...details, type: `urn:espalier:error:${code}`, title: ERRORS[code].title, detail, code };
}
