import { expect, test } from "@jest/globals";
import { LIMITS } from "#core";
import { limitWarnings } from "./limit-warnings.js";
import { parse } from "./parse.js";
import type { QueryWarning } from "./warning.js";

const warnings = (count: number): readonly QueryWarning[] =>
  Array.from({ length: count }, (_, index) => ({ code: "impossible_relation", message: `warning ${index}` }));

test("as many warnings as the limit come as they are", () => {
  expect(limitWarnings(warnings(LIMITS.queryWarnings))).toEqual(warnings(LIMITS.queryWarnings));
});

test.each([
  [1, "1 more warning of this query."],
  [30, "30 more warnings of this query."],
])("of %d more a last one tells", (more, message) => {
  const limited = limitWarnings(warnings(LIMITS.queryWarnings + more));
  expect(limited).toHaveLength(LIMITS.queryWarnings + 1);
  expect(limited.slice(0, -1)).toEqual(warnings(LIMITS.queryWarnings));
  expect(limited.at(-1)).toEqual({ code: "more_warnings", message });
});

test("a query within its limits can have more warnings than are told", () => {
  const step = `//Day${'[1-[node~="x"]*[node~="y"]]'.repeat(LIMITS.stepPredicates)}`;
  const { warnings: all } = parse(step.repeat(3));
  expect(all).toHaveLength(3 * LIMITS.stepPredicates);
  expect(limitWarnings(all).at(-1)?.message).toBe(`${all.length - LIMITS.queryWarnings} more warnings of this query.`);
});
