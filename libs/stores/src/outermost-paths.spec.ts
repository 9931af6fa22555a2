import { expect, test } from "@jest/globals";
import { outermostPaths } from "./outermost-paths.js";

test("paths inside others, and repeats, are left out; the rest is in document order", () => {
  expect(outermostPaths(["a1", "a0.a1.a2", "a0.a1", "a1", "a0V", "a0.a1V"])).toEqual(["a0.a1", "a0.a1V", "a0V", "a1"]);
});

test("the root has everything inside it", () => {
  expect(outermostPaths(["a1", "", "a0"])).toEqual([""]);
  expect(outermostPaths([])).toEqual([]);
});
