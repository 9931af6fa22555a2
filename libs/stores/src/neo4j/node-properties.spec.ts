import { expect, test } from "@jest/globals";
import { compareCodePoints } from "#query";
import fc from "fast-check";
import { holdsFor } from "../contract/seed.js";
import { nodeProperties, orderedText } from "./node-properties.js";

test("a value is a property, with what it is compared as where that is something else", () => {
  const attributes = {
    name: "Ann",
    days: 4,
    cost: "2.50",
    open: true,
    from: "2026-05-01",
    tags: ["3", "red"],
    none: [],
  };
  expect(nodeProperties({ attributes, metadata: {} })).toEqual({
    "value:name": "Ann",
    "value:days": 4,
    "text:days": "4",
    "number:days": 4,
    "value:cost": "2.50",
    "number:cost": 2.5,
    "value:open": true,
    "text:open": "true",
    "value:from": "2026-05-01",
    "instant:from": "101777593600.",
    "value:tags": ["3", "red"],
    "members:tags": ["text:3", "number:3", "text:red"],
    "value:none": [],
    "members:none": [],
  });
});

test("an attribute hides the metadata entry of its name, with all that it is compared as", () => {
  expect(nodeProperties({ attributes: { cost: "many" }, metadata: { cost: 3, size: "L" } })).toEqual({
    "value:cost": "many",
    "value:size": "L",
  });
});

test("names of our own properties, of objects and of Cypher make properties of their own", () => {
  const attributes = { type: "x", __proto_: "y", constructor: "z", "a.b-c": "q" };
  expect(Object.keys(nodeProperties({ attributes, metadata: {} }))).toEqual([
    "value:type",
    "value:__proto_",
    "value:constructor",
    "value:a.b-c",
  ]);
});

test("ordered texts have the order of code points by units, and differ where the texts do", async () => {
  const unit = fc.constantFrom("a", "\ud7fe", "\ud7ff", "\ue000", "\uff0c", "\uffff", "\u{10000}", "😀", "\u{10ffff}");
  const texts = fc.string({ unit, maxLength: 3 });
  await holdsFor(2_000, fc.tuple(texts, texts), ([left, right]) => {
    const [one, other] = [orderedText(left), orderedText(right)];
    expect(Math.sign(compareCodePoints(left, right))).toBe(one === other ? 0 : one < other ? -1 : 1);
    return Promise.resolve();
  });
});
