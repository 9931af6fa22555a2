import { expect, test } from "@jest/globals";
import { z } from "zod";
import { EspalierError } from "#core";
import { issue } from "../wire/text.js";
import { validate, validateBody } from "./validate.js";

const errorOf = (run: () => unknown): EspalierError => {
  try {
    run();
  } catch (error) {
    if (error instanceof EspalierError) return error;
    throw error;
  }
  throw new Error("nothing was thrown");
};

test("every problem is listed with its path", () => {
  const schema = z.strictObject({ rows: z.array(z.strictObject({ name: z.string() })), limit: z.number() });
  const error = errorOf(() => validate(schema, { rows: [{ name: 1 }], limit: "x", more: true }, "body"));
  expect(error.code).toBe("invalid_request");
  const paths = (error.details["errors"] as { path: string }[]).map(({ path }) => path);
  expect(paths).toEqual(expect.arrayContaining(["rows[0].name", "limit", "more"]));
  expect(error.message).toContain("(and 2 more)");
});

test("a place is told once", () => {
  const error = errorOf(() => validate(z.strictObject({ name: z.string().min(1) }), { name: [] }, "body"));
  expect(error.message).toBe("body name: must be a string, not a list");
});

test("of a union, the branch that came closest speaks", () => {
  const schema = z.union([
    z.strictObject({ tree: z.string(), under: z.string() }),
    z.strictObject({ conversation: z.string(), messages: z.array(z.strictObject({ text: z.string() })).min(1) }),
  ]);
  const error = errorOf(() => validate(schema, { conversation: "c", messages: [{ text: 7 }] }, "body"));
  expect(error.details["errors"]).toEqual([expect.objectContaining({ path: "messages[0].text" })]);
});

test("an issue can name a code of the registry", () => {
  const schema = z.strictObject({ name: z.string().refine(() => false, issue("invalid_text", "must not")) });
  expect(errorOf(() => validate(schema, { name: "x" }, "body")).code).toBe("invalid_text");
});

test("a missing body is not JSON", () => {
  expect(errorOf(() => validateBody(z.strictObject({}), undefined)).code).toBe("malformed_json");
});

test("what fits comes out with its defaults", () => {
  expect(validate(z.strictObject({ limit: z.number().default(3) }), {}, "query string")).toEqual({ limit: 3 });
});
