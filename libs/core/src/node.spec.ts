import { describe, expect, test } from "@jest/globals";
import { fieldText, isDescendantPath, printValue } from "./node.js";

describe("isDescendantPath", () => {
  test("holds strictly below an ancestor, and never for the node itself", () => {
    expect(isDescendantPath("a0.a1", "a0")).toBe(true);
    expect(isDescendantPath("a0", "a0")).toBe(false);
  });

  test("does not mistake a longer sibling key for a descendant", () => {
    expect(isDescendantPath("a0V", "a0")).toBe(false);
    expect(isDescendantPath("a0V.a1", "a0")).toBe(false);
  });

  test("the root is above everything but itself", () => {
    expect(isDescendantPath("a0", "")).toBe(true);
    expect(isDescendantPath("", "")).toBe(false);
  });
});

describe("fieldText", () => {
  const node = { text: "name: ACL", attributes: { name: "ACL", cost: 12.5, open: false, tags: ["a", "b"] } };

  test("the empty field is the node's text", () => {
    expect(fieldText(node, "")).toBe("name: ACL");
  });

  test("attributes that are not strings are scored as printed", () => {
    expect(fieldText(node, "cost")).toBe("12.5");
    expect(fieldText(node, "open")).toBe("false");
    expect(printValue(node.attributes.tags)).toBe("a, b");
  });

  test("a missing attribute is undefined, also when Object.prototype has the name", () => {
    expect(fieldText(node, "constructor")).toBeUndefined();
  });
});
