import { describe, expect, test } from "@jest/globals";
import { rankGroups, recallAt, recallWithinTokens } from "./recall.js";

const gold = new Set(["a", "b"]);

describe("recallAt", () => {
  test("counts the gold ids among the first k only", () => {
    expect(recallAt(["x", "a", "y", "b"], gold, 1)).toBe(0);
    expect(recallAt(["x", "a", "y", "b"], gold, 2)).toBe(0.5);
    expect(recallAt(["x", "a", "y", "b"], gold, 10)).toBe(1);
  });

  test("counts a repeated id once", () => {
    expect(recallAt(["a", "a"], gold, 2)).toBe(0.5);
  });
});

describe("recallWithinTokens", () => {
  const rows = [
    { id: "a", tokens: 30 },
    { id: "x", tokens: 50 },
    { id: "b", tokens: 20 },
  ];

  test("takes rows up to the budget, the budget included", () => {
    expect(recallWithinTokens(rows, gold, 100)).toBe(1);
    expect(recallWithinTokens(rows, gold, 99)).toBe(0.5);
  });

  test("ends at the first row that does not fit, even if a later one would", () => {
    expect(recallWithinTokens(rows, gold, 60)).toBe(0.5);
    expect(recallWithinTokens(rows, gold, 29)).toBe(0);
  });
});

test("a group ranks by its best item", () => {
  expect(rankGroups(["s2:1", "s1:4", "s2:9", "s3:1"], (id) => id.slice(0, 2))).toEqual(["s2", "s1", "s3"]);
});
