import { LIMITS } from "#core";
import type { QueryWarning } from "./warning.js";

/** The first LIMITS.queryWarnings warnings of a query; if there are more, one last says how many. */
export function limitWarnings(warnings: readonly QueryWarning[]): readonly QueryWarning[] {
  const more = warnings.length - LIMITS.queryWarnings;
  if (more <= 0) return warnings;
  const last: QueryWarning = {
    code: "more_warnings",
    message: `${more} more ${more === 1 ? "warning" : "warnings"} of this query.`,
  };
  return [...warnings.slice(0, LIMITS.queryWarnings), last];
}
