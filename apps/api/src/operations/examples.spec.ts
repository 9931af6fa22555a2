import { expect, test } from "@jest/globals";
import type { z } from "zod";
import { checkInsert } from "#memory";
import { ALL_OPERATIONS } from "../http/operations.js";
import { EXAMPLES } from "./examples.js";

const problems = (schema: z.ZodType, value: unknown): readonly string[] =>
  (schema.safeParse(value).error?.issues ?? []).map(({ path, message }) => `${path.join(".")}: ${message}`);

test.each(ALL_OPERATIONS)("$id has examples that fit its schemas", ({ id, body, responses }) => {
  const { bodies = {}, answer } = EXAMPLES[id] ?? {};
  expect(Object.keys(bodies).length > 0).toBe(body !== undefined);
  for (const [name, example] of Object.entries(bodies)) {
    expect({ name, problems: body && problems(body, example) }).toEqual({ name, problems: [] });
  }
  const [good] = Object.values(responses);
  if (good?.schema !== undefined) expect(problems(good.schema, answer)).toEqual([]);
});

test("no example is of an operation that does not exist", () => {
  const ids: readonly string[] = ALL_OPERATIONS.map(({ id }) => id);
  expect(Object.keys(EXAMPLES).filter((id) => !ids.includes(id))).toEqual([]);
});

test("what is inserted by example is taken", () => {
  for (const body of Object.values(EXAMPLES["insert"]?.bodies ?? {})) {
    checkInsert(body as Parameters<typeof checkInsert>[0], { structure: "conversation" });
  }
});
