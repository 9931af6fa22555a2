import type { z } from "zod";
import { ERRORS, EspalierError, type ErrorCode } from "#core";
import { fewFields } from "#jobs";
import { problemsOf, type IssueProblem } from "./issue-text.js";

/** Problems of one request that are listed; the rest are counted. */
const LISTED_PROBLEMS = 100;

/** Of a union, the branch that came closest, of a record's key, what is wrong with it: both say little themselves. */
function flatten(issue: z.core.$ZodIssue): readonly z.core.$ZodIssue[] {
  if (issue.code === "invalid_key") return issue.issues.map((inner) => ({ ...inner, path: issue.path }));
  if (issue.code !== "invalid_union" || issue.errors.length === 0) return [issue];
  const branches = issue.errors.map((issues) =>
    issues.flatMap((inner) => flatten({ ...inner, path: [...issue.path, ...inner.path] })),
  );
  return branches.reduce((best, branch) => (branch.length < best.length ? branch : best));
}

/** One problem a place: what follows a first one there, as the length of what is no text, says nothing more. */
function firstOfEach(problems: readonly IssueProblem[]): readonly IssueProblem[] {
  return [...new Map(problems.toReversed().map((problem) => [problem.path, problem])).values()].toReversed();
}

/** A custom issue can name a code of the registry (`params: { code }`): limits and texts have codes of their own. */
function codeOf(issue: z.core.$ZodIssue): ErrorCode | undefined {
  const code: unknown = issue.code === "custom" ? issue.params?.["code"] : undefined;
  return typeof code === "string" && Object.hasOwn(ERRORS, code) ? (code as ErrorCode) : undefined;
}

/**
 * A value that fits the schema, with defaults filled in.
 * @throws EspalierError `invalid_request` with `errors: [{path, message}]`, or the code that an issue names
 */
export function validate<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  what: "body" | "query string",
): z.output<Schema> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues.flatMap(flatten);
  const problems = firstOfEach(issues.flatMap((issue) => problemsOf(issue, schema, value)));
  const errors = problems.slice(0, LISTED_PROBLEMS);
  const first = errors[0];
  const where = first === undefined || first.path === "" ? `the ${what}` : `${what} ${first.path}`;
  const more = problems.length > 1 ? ` (and ${problems.length - 1} more)` : "";
  const code = issues.map(codeOf).find((found) => found !== undefined) ?? "invalid_request";
  throw new EspalierError(code, `${where}: ${first?.message ?? "does not fit"}${more}`, { details: { errors } });
}

/** Schemas of bodies behind the count of their fields, made once. */
const BOUNDED = new WeakMap<z.ZodType, z.ZodType>();

function boundedBody<Schema extends z.ZodType>(schema: Schema): z.ZodType<z.output<Schema>> {
  const known = BOUNDED.get(schema) ?? fewFields(schema);
  BOUNDED.set(schema, known);
  return known as z.ZodType<z.output<Schema>>;
}

/**
 * A body that fits the schema.
 * @throws EspalierError `malformed_json` if there is no body, else as `validate`
 */
export function validateBody<Schema extends z.ZodType>(schema: Schema, body: unknown): z.output<Schema> {
  if (body === undefined) {
    throw new EspalierError("malformed_json", "The body is empty; a JSON object was expected.");
  }
  return validate(boundedBody(schema), body, "body");
}
