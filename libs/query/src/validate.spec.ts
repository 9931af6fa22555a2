import { describe, expect, test } from "@jest/globals";
import { EspalierError } from "#core";
import { nearNames } from "./near-names.js";
import { parse } from "./parse.js";
import type { QuerySchema } from "./schema-index.js";
import { validate } from "./validate.js";

const named = (...names: string[]) => names.map((name) => ({ name }));

/** Itinerary -> Day -> POI -> Note; Day -> Restaurant -> Note. */
const schema: QuerySchema = {
  types: [
    { type: "Itinerary", attributes: named("name"), metadata: [] },
    { type: "Day", attributes: named("date"), metadata: named("weather") },
    { type: "POI", attributes: named("name", "cost"), metadata: named("booked") },
    { type: "Restaurant", attributes: named("cuisine", "cost"), metadata: [] },
    { type: "Note", attributes: named("text"), metadata: named("source") },
  ],
  relations: [
    { parent: "Memory", child: "Itinerary" },
    { parent: "Itinerary", child: "Day" },
    { parent: "Day", child: "POI" },
    { parent: "Day", child: "Restaurant" },
    { parent: "POI", child: "Note" },
    { parent: "Restaurant", child: "Note" },
  ],
};
const check = (text: string, against = schema) => validate(parse(text), against);

const failure = (text: string): EspalierError => {
  try {
    check(text);
  } catch (error) {
    if (error instanceof EspalierError) return error;
    throw error;
  }
  throw new Error("it was accepted");
};

describe("a name that occurs nowhere", () => {
  test("is an error with its place and near names", () => {
    const error = failure('/Itinerary\n  //Dya[date="2026-07-02"]');
    expect(error.code).toBe("unknown_type");
    expect(error.message).toBe('Line 2, column 5: no node of this memory has the type "Dya". Did you mean "Day"?');
    expect(error.details).toEqual({
      line: 2,
      column: 5,
      caret: '  //Dya[date="2026-07-02"]\n    ^',
      expected: ["Day"],
      name: "Dya",
      near: ["Day"],
    });
  });

  test.each([
    ["//Version", "unknown_type", []],
    ["//Memory", "unknown_type", []],
    ["//day", "unknown_type", ["Day"]],
    ["//Restaurants", "unknown_type", ["Restaurant"]],
    ['//POI[costs~="x"]', "unknown_attribute", ["cost"]],
    ["//POI[Cost<3]", "unknown_attribute", ["cost"]],
    ['//Day[max(/POI/Nte[text~="x"])]', "unknown_type", ["Note"]],
    ['//Day[1-max(/POI[(node~="x"+nmae~="y")/2])]', "unknown_attribute", ["name"]],
    ["//POI[xyzzy=1]", "unknown_attribute", []],
  ])("%s: %s near %j", (text, code, near) => {
    expect(failure(text)).toMatchObject({ code, details: { near } });
  });

  test("of several the first is told", () => {
    expect(failure("//POI[foo=1]//Bar[baz=1]").details["name"]).toBe("foo");
  });

  test("a comparison with node says how a node's text is scored", () => {
    expect(failure('//POI[node="x"]').message).toContain('node~="…"');
  });

  test("is no error in a memory without nodes, of which a warning tells", () => {
    expect(check("//Version[foo=1]", { types: [], relations: [] })).toEqual([
      { code: "empty_memory", message: "This memory is empty: nothing has been inserted yet." },
    ]);
  });

  test("the root is told from a type that is unknown", () => {
    expect(failure("/Memory/Itinerary").message).toContain("It is the root, which is no row");
  });
});

describe("a name that occurs elsewhere", () => {
  test.each([
    ["//Restaurant/Day", "impossible_relation", '"/Day" finds nothing: no Day stands directly below Restaurant'],
    [
      "/Day",
      "impossible_relation",
      'no Day stands directly below the root in this memory. Deeper down there is: "//Day"',
    ],
    ["//Note//*", "impossible_relation", "no node stands below Note"],
    ["//Day[max(/Note)]", "impossible_relation", "no Note stands directly below Day"],
    ["//Day[cuisine=1]", "attribute_not_on_type", '"cuisine" is no attribute of Day'],
    ["//Day/*[weather=1]", "attribute_not_on_type", '"weather" is no attribute of POI or Restaurant'],
    ['//Day[max(//Note[cost~="x"])]', "attribute_not_on_type", '"cost" is no attribute of Note'],
    ['//Day[weather~="rain"]', "attribute_not_on_type", "is metadata, which is compared but never scored"],
  ])("%s is a warning: %s", (text, code, sentence) => {
    const warnings = check(text);
    expect(warnings).toHaveLength(1);
    expect(warnings[0]?.code).toBe(code);
    expect(warnings[0]?.message).toContain(sentence);
    expect(warnings[0]?.message).toMatch(/^Line 1, column \d+: /);
  });

  test("one impossible step is one warning, and what follows is judged by its own type", () => {
    expect(check("/POI/Note[text~='x']").map(({ code }) => code)).toEqual(["impossible_relation"]);
    expect(check("//Note/*/*[cost<1]").map(({ code }) => code)).toEqual(["impossible_relation"]);
  });
});

test.each([
  "//Day",
  "/Itinerary/Day/POI/Note",
  "//*[cuisine='x']",
  '//Day[weather="rain"]',
  '//Day[avg(/POI[booked="true"][name~="x"])]',
  "/Itinerary//Note[source=1][text~='x']",
  "/*/*/*/*",
])("%s fits and says nothing", (text) => {
  expect(check(text)).toEqual([]);
});

test("near names are few, near, and the nearest first", () => {
  expect(nearNames("cost", ["costs", "host", "coast", "cast", "name"])).toEqual(["cast", "coast", "costs"]);
  expect(nearNames("a", ["b", "c"])).toEqual([]);
  expect(nearNames("NAME", ["name"])).toEqual(["name"]);
});
