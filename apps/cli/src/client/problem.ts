/** A problem+json answer, or the error of a job, as far as the command line shows it. */
export interface Problem {
  readonly title?: string;
  readonly detail?: string;
  readonly code?: string;
  readonly advice?: string;
  readonly caret?: string;
  readonly errors?: readonly { readonly path: string; readonly message: string }[];
}

/** What to do at a terminal, by code, where the server's advice is for who speaks HTTP. */
const ADVICE: Readonly<Record<string, string>> = {
  invalid_request: "docs/api.md has the shapes; each line above names a place.",
  unauthorized: "Give the key with --key or ESPALIER_KEY; that of a data folder is in its admin.key.",
  key_expired: "Give another key with --key or ESPALIER_KEY.",
  forbidden: "Give a key that may do this with --key or ESPALIER_KEY.",
  memory_not_found: "bin/espalier memories lists the memories.",
  unknown_type: "bin/espalier schema MEMORY lists the types.",
  unknown_attribute: "bin/espalier schema MEMORY lists the attributes.",
  unknown_scorer: "--scorer takes similarity, entailment, lexical or hybrid.",
  topk_too_large: "Ask for fewer rows with --top-k.",
  position_after_predicate: "Start a new step, or cut by score with --top-k.",
  syntax_error: "The caret shows where; docs/query-language.md teaches the language.",
};

/** What a person at a terminal needs of a problem: what was wrong, where, and what to do. */
export function problemText(problem: Problem, status?: number): string {
  const what =
    problem.detail ?? problem.title ?? (status === undefined ? "no reason given" : `the server answered ${status}`);
  const lines = [`${what}${problem.code === undefined ? "" : ` (${problem.code})`}`];
  for (const error of problem.errors ?? []) lines.push(`  ${error.path}: ${error.message}`);
  if (problem.caret !== undefined) lines.push(problem.caret);
  const advice = ADVICE[problem.code ?? ""] ?? problem.advice;
  if (advice !== undefined) lines.push(advice);
  return lines.join("\n");
}
