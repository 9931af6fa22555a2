import { expect, test } from "@jest/globals";
import { sparseDocument, sparseQuery, termIndex } from "./sparse-terms.js";

/** Two terms that fall together; found by search, fixed by the hash. */
const COLLIDING = ["term50025x146787", "term23882x120991"] as const;

test("a term's index never changes: stored points depend on it", () => {
  expect(["red", "sea", "été", "記憶"].map(termIndex)).toEqual([1583829361, 1823356597, 3533537933, 2117481837]);
});

test("terms that fall together count once in a document, by the heavier, and together in a query", () => {
  const [one, other] = COLLIDING;
  expect(one).not.toBe(other);
  const index = termIndex(one);
  expect(termIndex(other)).toBe(index);
  const weights = new Map([
    [one, 0.5],
    [other, 0.75],
  ]);
  expect(sparseDocument(weights)).toEqual({ indices: [index], values: [0.75] });
  expect(sparseQuery(weights)).toEqual({ indices: [index], values: [1.25] });
});
