import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { EspalierError } from "#core";
import { parse, print } from "#query";
import { ANYTHING, randomQuery } from "./support/random-query.js";
import { holdsFor } from "./support/seed.js";

const CODES = [
  "syntax_error",
  "position_zero",
  "position_after_predicate",
  "mean_count",
  "query_too_long",
  "too_many_steps",
  "query_too_deep",
  "too_many_predicates",
  "string_too_long",
];

/** Whatever the text: a tree that prints and parses again, or an error at a place in it. Answers whether it was accepted. */
const check = (text: string): boolean => {
  try {
    const { canonical, ast } = parse(text);
    if (Buffer.byteLength(canonical) <= 8192) expect(parse(canonical).ast).toEqual(ast);
    return true;
  } catch (error) {
    if (!(error instanceof EspalierError)) throw error;
    expect(CODES).toContain(error.code);
    const { line, column, caret, expected } = error.details as Record<string, unknown>;
    const lines = text.split(/\r\n|\n|\r/);
    expect(Number(line)).toBeGreaterThanOrEqual(1);
    expect(Number(line)).toBeLessThanOrEqual(lines.length);
    expect(Number(column)).toBeGreaterThanOrEqual(1);
    expect(Number(column)).toBeLessThanOrEqual(Array.from(lines[Number(line) - 1]!).length + 2);
    expect(String(caret)).toMatch(/\n\s*\^$/);
    expect(expected).toEqual(expect.arrayContaining([expect.any(String)]));
    return false;
  }
};

const texts = randomQuery(ANYTHING, 2).map(print);

test("random bytes", async () => {
  await holdsFor(2_000, fc.uint8Array({ maxLength: 200 }), (bytes) => {
    check(Buffer.from(bytes).toString("utf8"));
    check(Buffer.from(bytes).toString("latin1"));
  });
}, 60_000);

test("random UTF-16, lone surrogates included", async () => {
  const units = fc.array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 60 });
  await holdsFor(1_000, units, (codes) => {
    const text = String.fromCharCode(...codes);
    check(text);
    check(`//A[node~="${text}"]`);
  });
}, 60_000);

test("random sequences of the language's own tokens", async () => {
  const token = fc.constantFrom(
    ...'/ // [ ] ( ) , * · + - : ~= ~ ≈ = != < <= > >= 1 2 0 1- -1 0.5 1e9 node A min( avg( gmean( max( "x" \'y\' " \' \\ [1] [node~="x"] //A[ )/2'.split(
      " ",
    ),
    " ",
    "\n",
  );
  await holdsFor(4_000, fc.array(token, { maxLength: 24 }), (tokens) => {
    check(tokens.join(""));
    check(`//A[${tokens.join(" ")}]`);
  });
}, 60_000);

test("truncated queries", async () => {
  await holdsFor(300, texts, (text) => {
    for (let length = 0; length < Math.min(text.length, 400); length++) check(text.slice(0, length));
  });
}, 120_000);

test("mutated queries, some of which are still queries", async () => {
  let accepted = 0;
  const mutation = fc.record({
    text: texts,
    at: fc.nat(),
    removed: fc.nat({ max: 3 }),
    inserted: fc.oneof(
      fc.constantFrom("[", "]", "(", ")", "/", "1", "-", "*", '"', "\\", ",", "~", "0", ":", " ", "\u0301"),
      fc.string({ unit: "binary", maxLength: 2 }),
    ),
  });
  await holdsFor(3_000, mutation, ({ text, at, removed, inserted }) => {
    const place = at % (text.length + 1);
    if (check(text.slice(0, place) + inserted + text.slice(place + removed))) accepted++;
  });
  expect(accepted).toBeGreaterThan(100);
}, 120_000);

test.each<[string, string]>([
  ["one string", `//A[node~="${"x".repeat(2 ** 20)}"]`],
  ["an open string", `//A[node~="${"x".repeat(2 ** 20)}`],
  ["backslashes", `//A[node~="${"\\\\".repeat(2 ** 19)}"]`],
  ["one name", `//${"a".repeat(2 ** 20)}`],
  ["digits", `//A[${"1".repeat(2 ** 20)}]`],
  ["white space", " ".repeat(2 ** 20)],
  ["lines", "\n".repeat(2 ** 20)],
  ["steps", "/A".repeat(2 ** 19)],
  ["predicates", `//A${"[a=1]".repeat(2 ** 17)}`],
  ["brackets", "[".repeat(2 ** 20)],
  ["parentheses", `//A[${"(".repeat(2 ** 20)}`],
  ["complements", `//A[${"1-".repeat(2 ** 19)}a=1]`],
  ["folds", `//A[${"min(".repeat(2 ** 18)}`],
  ["surrogates", "\ud83d\ude42".repeat(2 ** 18)],
  ["combining marks", `//a${"\u0301".repeat(2 ** 20)}`],
])("a megabyte of %s is refused at once, with a place", (_, text) => {
  const begun = performance.now();
  expect(check(text)).toBe(false);
  expect(performance.now() - begun).toBeLessThan(1_000);
});

test.each<[string, (depth: number) => string]>([
  ["parentheses", (depth) => `//A[${"(".repeat(depth)}a=1${")".repeat(depth)}]`],
  ["complements", (depth) => `//A[${"1-".repeat(depth)}a=1]`],
  ["aggregates", (depth) => `//A[${"avg(/A[".repeat(depth)}a=1${"])".repeat(depth)}]`],
  ["folds", (depth) => `//A[${"min(a=1,".repeat(depth)}a=1${")".repeat(depth)}]`],
  ["means", (depth) => `//A[${"(a=1+".repeat(depth)}a=1${")/2".repeat(depth)}]`],
])("nested %s are accepted to a depth and refused beyond it, never crashed on", (_, nest) => {
  const accepted = [1, 2, 3, 5, 7, 15, 16, 40, 400, 900].map((depth) => check(nest(depth)));
  expect(accepted[0]).toBe(true);
  expect(accepted.at(-1)).toBe(false);
  expect(accepted).toEqual(accepted.toSorted((a, b) => Number(b) - Number(a)));
});

test("a hostile query of the longest length is read in time", () => {
  const hostile = [
    `//A[${"(a=1*".repeat(14)}a=1${")".repeat(14)}]`.padEnd(8192),
    "//A[a=1][b=2]".repeat(16),
    `//A[${"a=1*".repeat(2_000)}a=1]`,
    `//A[(${"a=1+".repeat(2_000)}a=1)/2001]`,
    `//A[min(${"a=1,".repeat(2_000)}a=1)]`,
    `//A[node~="${'\\"'.repeat(1_000)}"]`,
  ];
  const begun = performance.now();
  for (const text of hostile) expect(check(text)).toBe(true);
  expect(performance.now() - begun).toBeLessThan(2_000);
});
