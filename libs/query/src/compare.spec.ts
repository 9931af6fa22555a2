import { describe, expect, test } from "@jest/globals";
import type { AttributeValue } from "#core";
import type { ComparisonOperator } from "./ast.js";
import { compare, compareCodePoints, holds, numericValue } from "./compare.js";

const OPERATORS: readonly ComparisonOperator[] = ["=", "!=", "<", "<=", ">", ">="];

/** The operators that hold between a value and a literal. */
const holding = (value: AttributeValue | undefined, literal: string | number): readonly ComparisonOperator[] =>
  OPERATORS.filter((operator) => compare(value, operator, literal));

const LESS = ["!=", "<", "<="];
const EQUAL = ["=", "<=", ">="];
const GREATER = ["!=", ">", ">="];

describe("a number literal", () => {
  test.each<[AttributeValue | undefined, number, readonly string[]]>([
    [1, 2, LESS],
    [2, 2, EQUAL],
    [-0.5, -1, GREATER],
    ["2", 2, EQUAL],
    ["-1.50", -1.5, EQUAL],
    ["1e3", 1000, EQUAL],
    ["007", 7, EQUAL],
    ["10", 9, GREATER],
    // Not finite decimals: nothing holds, not even !=.
    ["", 0, []],
    [" 2", 2, []],
    ["+2", 2, []],
    [".5", 0.5, []],
    ["5.", 5, []],
    ["0x10", 16, []],
    ["1,000", 1000, []],
    ["Infinity", 1, []],
    ["1e999", 1, []],
    ["two", 2, []],
    [true, 1, []],
    [undefined, 1, []],
  ])("%j against %j", (value, literal, expected) => {
    expect(holding(value, literal)).toEqual(expected);
  });
});

describe("a string literal", () => {
  test.each<[AttributeValue | undefined, string, readonly string[]]>([
    // Code points
    ["a", "b", LESS],
    ["a", "a", EQUAL],
    ["b", "a", GREATER],
    ["a", "aa", LESS],
    ["", "", EQUAL],
    ["Z", "a", LESS],
    ["é", "e", GREATER],
    ["\u{1f642}", "\uffee", GREATER],
    ["10", "9", LESS],
    // Instants
    ["2026-05-01", "2026-05-01T00:00:00Z", EQUAL],
    ["2026-05-01T02:00:00+02:00", "2026-05-01", EQUAL],
    ["2026-05-01T00:00:00", "2026-05-01t00:00:00z", EQUAL],
    ["2026-05-01T23:59:59.999Z", "2026-05-02", LESS],
    ["2026-05-01T00:00:00.0000001Z", "2026-05-01", GREATER],
    ["2026-05-01T00:00:00.10Z", "2026-05-01T00:00:00.1Z", EQUAL],
    ["2026-12-31T23:59:60Z", "2027-01-01", EQUAL],
    // Not both instants: code points
    ["2026-02-30", "2026-02-29T00:00:00Z", GREATER],
    ["2026-05-01", "2026-05", GREATER],
    ["2026-05-01 ", "2026-05-01", GREATER],
    // Booleans and numbers are compared as printed
    [true, "true", EQUAL],
    [false, "true", LESS],
    [12.5, "12.5", EQUAL],
    [12.5, "12.50", LESS],
    [undefined, "", []],
  ])("%j against %j", (value, literal, expected) => {
    expect(holding(value, literal)).toEqual(expected);
  });
});

describe("a list", () => {
  test.each<[AttributeValue, string | number, readonly string[]]>([
    [["a", "b"], "a", ["="]],
    [["a", "b"], "c", ["!="]],
    [[], "a", ["!="]],
    [["2.0"], 2, ["="]],
    [["two"], 2, ["!="]],
    [["2026-05-01"], "2026-05-01T00:00:00Z", ["="]],
  ])("%j has, or has not, %j as a member; nothing else holds", (value, literal, expected) => {
    expect(holding(value, literal)).toEqual(expected);
  });
});

describe("the name of a comparison", () => {
  const cheap = { kind: "comparison", name: "cost", operator: "<", value: 10 } as const;

  test("means the attribute, then the metadata entry", () => {
    expect(holds(cheap, { attributes: { cost: 20 }, metadata: { cost: 5 } })).toBe(false);
    expect(holds(cheap, { attributes: {}, metadata: { cost: 5 } })).toBe(true);
    expect(holds(cheap, { attributes: {}, metadata: {} })).toBe(false);
    expect(holds(cheap, {})).toBe(false);
  });

  test("is never inherited from Object.prototype", () => {
    const comparison = { ...cheap, name: "constructor", operator: "!=", value: "x" } as const;
    expect(holds(comparison, { attributes: {}, metadata: {} })).toBe(false);
  });
});

test("code points order as UTF-8 bytes do", () => {
  const words = ["", "a", "az", "b", "é", "\ud7ff", "\ue000", "\uffff", "\u{10000}", "\u{1f642}", "\u{10ffff}"];
  for (const a of words) {
    for (const b of words) {
      const expected = Buffer.compare(Buffer.from(a), Buffer.from(b));
      expect(Math.sign(compareCodePoints(a, b))).toBe(expected);
    }
  }
});

test("texts are numbers only in the language's own form", () => {
  expect(["1", "1.5", "-2e-3", "1e", "e1", "--1", "1 "].map(numericValue)).toEqual([1, 1.5, -0.002, ...Array(4)]);
});
