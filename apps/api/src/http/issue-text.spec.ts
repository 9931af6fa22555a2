import { expect, test } from "@jest/globals";
import { z } from "zod";
import { fewFields } from "#jobs";
import { problemsOf } from "./issue-text.js";

const schema = z.strictObject({
  name: z.string().min(1),
  topK: z.number().int().min(1).max(10).default(5),
  minScore: z.number().min(0).optional(),
  scorer: z.enum(["hybrid", "lexical"]).optional(),
  messages: z
    .array(fewFields(z.strictObject({ text: z.string(), time: z.iso.datetime().optional() })))
    .min(1)
    .optional(),
  labels: z.record(z.string(), z.string()).optional(),
  settings: fewFields(z.strictObject({ a: z.number() })).optional(),
  from: z.iso.date().optional(),
});

const told = (value: unknown, against: z.ZodType = schema): readonly string[] => {
  const { error } = against.safeParse(value);
  return (error?.issues ?? []).flatMap((issue) =>
    problemsOf(issue, against, value).map(({ path, message }) => `${path}: ${message}`),
  );
};

test.each<[string, unknown, readonly string[]]>([
  ["what is missing", {}, ["name: is missing; it must be a string"]],
  ["a wrong kind", { name: 7 }, ["name: must be a string, not a number"]],
  ["null", { name: null }, ["name: must be a string, not null"]],
  ["an empty text", { name: "" }, ["name: must not be empty"]],
  ["a fraction", { name: "x", topK: 1.5 }, ["topK: must be a whole number"]],
  ["too small a number", { name: "x", topK: 0 }, ["topK: must be at least 1"]],
  ["too large a number", { name: "x", topK: 11 }, ["topK: must be at most 10"]],
  ["an unknown option", { name: "x", scorer: "bm25" }, ["scorer: must be one of hybrid, lexical"]],
  ["an empty list", { name: "x", messages: [] }, ["messages: must have at least 1 item"]],
  [
    "a broken time",
    { name: "x", messages: [{ text: "t", time: "today" }] },
    ["messages[0].time: must be a date-time as 2026-05-02T10:00:00Z"],
  ],
  ["a broken day", { name: "x", from: "2026-1-1" }, ["from: must be a day as 2026-05-02"]],
  ["an unknown field", { name: "x", topk: 5 }, ['topk: unknown field; did you mean "topK"?']],
  [
    "a field far from all",
    { name: "x", colour: 5, colors: 6 },
    [
      "colour: unknown field; there are name, topK, minScore, scorer, messages, labels, settings, from",
      "colors: unknown field; there are name, topK, minScore, scorer, messages, labels, settings, from",
    ],
  ],
  [
    "an unknown field further in",
    { name: "x", messages: [{ text: "t", tiem: "" }], settings: { a: 1, b: 2 } },
    ['messages[0].tiem: unknown field; did you mean "time"?', "settings.b: unknown field; there are a"],
  ],
  ["no object at all", "x", [": must be an object, not a string"]],
])("%s", (_what, value, expected) => {
  expect(told(value)).toEqual(expected);
});

test("a part that only its presence is asked of is missing", () => {
  expect(told({}, z.strictObject({ tree: z.unknown().nonoptional() }))).toEqual(["tree: is missing"]);
});

test("a problem with a sentence of its own keeps it", () => {
  const own = z.strictObject({ name: z.string().refine(() => false, "must rhyme") });
  expect(told({ name: "x" }, own)).toEqual(["name: must rhyme"]);
  expect(told({ name: "" }, z.strictObject({ name: z.string().min(1, "needs a name") }))).toEqual([
    "name: needs a name",
  ]);
});
