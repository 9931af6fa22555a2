import { expect, test } from "@jest/globals";
import { parseMemoryList } from "./memory-list-query.js";

test("parameters that begin with label. are filters, the others are the page's", () => {
  expect(parseMemoryList({ "label.user": "u1", name: "trip" })).toEqual({
    ...{ limit: 50, name: "trip" },
    labels: { user: "u1" },
  });
});

test("a filter by __proto__ stays a filter", () => {
  expect(Object.entries(parseMemoryList({ "label.__proto__": "x" }).labels)).toEqual([["__proto__", "x"]]);
});

test.each(["label.", "label", "labels"])("a filter without a name is refused: %s", (name) => {
  expect(() => parseMemoryList({ [name]: "x" })).toThrow("label.NAME=value");
});
