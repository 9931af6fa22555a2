import type { z } from "zod";
import { nearNames } from "#query";

/** One problem of a request, for people. */
export interface IssueProblem {
  /** `rows[3].name`; empty for the whole. */
  readonly path: string;
  /** Fits behind the path. */
  readonly message: string;
}

/**
 * What is wrong, in words that need no knowledge of the validator: one problem for each unknown field, else one in all.
 * @param schema that refused `value`; names near to an unknown field come from it
 */
export function problemsOf(issue: z.core.$ZodIssue, schema: z.ZodType, value: unknown): readonly IssueProblem[] {
  if (issue.code === "unrecognized_keys") {
    const known = fieldsAt(schema, issue.path);
    return issue.keys.map((key) => ({ path: pathText([...issue.path, key]), message: unknownField(key, known) }));
  }
  return [{ path: pathText(issue.path), message: messageOf(issue, valueAt(value, issue.path)) }];
}

/** `rows[3].name` for `["rows", 3, "name"]`. */
function pathText(path: readonly PropertyKey[]): string {
  return path.reduce<string>((text, part) => {
    if (typeof part === "number") return `${text}[${part}]`;
    return text === "" ? String(part) : `${text}.${String(part)}`;
  }, "");
}

function unknownField(name: string, known: readonly string[]): string {
  const near = nearNames(name.slice(0, LONGEST_NAME), known);
  if (near.length > 0) return `unknown field; did you mean ${near.map((each) => `"${each}"`).join(" or ")}?`;
  return known.length === 0 ? "unknown field" : `unknown field; there are ${known.join(", ")}`;
}

/** No field has a longer name; distances of longer ones cost time. */
const LONGEST_NAME = 64;

/** Our sentences stand behind a path, so they begin small; the validator's begin with a capital. */
const VALIDATORS = /^\p{Lu}/u;

function messageOf(issue: z.core.$ZodIssue, value: unknown): string {
  if (!VALIDATORS.test(issue.message)) return issue.message;
  if (issue.code === "invalid_type") return wrongKind(issue.expected, value);
  if (issue.code === "too_small") return atLeast(issue.origin, Number(issue.minimum));
  if (issue.code === "too_big") return `must ${bounded(issue.origin, "at most", Number(issue.maximum))}`;
  if (issue.code === "invalid_value") return `must be one of ${issue.values.map(String).join(", ")}`;
  if (issue.code === "invalid_format" && issue.format === "datetime") {
    return "must be a date-time as 2026-05-02T10:00:00Z";
  }
  if (issue.code === "invalid_format" && issue.format === "date") return "must be a day as 2026-05-02";
  return issue.message;
}

/** Kinds that a schema can expect, as people say them. */
const KINDS: Readonly<Record<string, string>> = {
  string: "a string",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  object: "an object",
  record: "an object",
  array: "a list",
};

function wrongKind(expected: string, value: unknown): string {
  const kind = KINDS[expected];
  if (value === undefined) return kind === undefined ? "is missing" : `is missing; it must be ${kind}`;
  if (kind === undefined) return "is of a wrong kind";
  return expected === "int" || (expected === "number" && typeof value === "number")
    ? `must be ${kind}`
    : `must be ${kind}, not ${kindOf(value)}`;
}

function kindOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  return KINDS[typeof value] ?? typeof value;
}

function atLeast(origin: string, least: number): string {
  return origin === "string" && least === 1 ? "must not be empty" : `must ${bounded(origin, "at least", least)}`;
}

/** Of a text its length counts, of a list its items. */
function bounded(origin: string, side: "at least" | "at most", limit: number): string {
  if (origin === "string") return `have ${side} ${limit} characters`;
  if (origin === "array") return `have ${side} ${limit} item${limit === 1 ? "" : "s"}`;
  return `be ${side} ${limit}`;
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (part, key) =>
      typeof part === "object" && part !== null ? (part as Record<PropertyKey, unknown>)[key] : undefined,
    value,
  );
}

/** The fields of the object at a path; none where the schema leaves open which one it is. */
function fieldsAt(schema: z.ZodType, path: readonly PropertyKey[]): readonly string[] {
  const found = path.reduce<z.core.$ZodTypes | undefined>(
    (part, key) => part && partOf(part, key),
    unwrapped(schema as unknown as z.core.$ZodTypes),
  );
  return found?._zod.def.type === "object" ? Object.keys(found._zod.def.shape) : [];
}

function partOf({ _zod: { def } }: z.core.$ZodTypes, key: PropertyKey): z.core.$ZodTypes | undefined {
  if (def.type === "object") return unwrapped(def.shape[String(key)] as z.core.$ZodTypes | undefined);
  if (def.type === "array") return unwrapped(def.element as z.core.$ZodTypes);
  return def.type === "record" ? unwrapped(def.valueType as z.core.$ZodTypes) : undefined;
}

/** What stands behind defaults, options and preparations. */
function unwrapped(schema: z.core.$ZodTypes | undefined): z.core.$ZodTypes | undefined {
  if (schema === undefined) return undefined;
  const { def } = schema._zod;
  if (def.type === "optional" || def.type === "default" || def.type === "nonoptional") {
    return unwrapped(def.innerType as z.core.$ZodTypes);
  }
  return def.type === "pipe" ? unwrapped(def.out as z.core.$ZodTypes) : schema;
}
