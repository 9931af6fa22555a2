import { expect, test } from "@jest/globals";
import { unitVector } from "./hashed-model.js";
import { rawTopK } from "./raw-scan.js";
import { sentences } from "./sentences.js";

test("a synthetic vector has length 1 and depends on the text only", () => {
  const vector = unitVector("a text", 384);
  expect(vector.reduce((sum, value) => sum + value * value, 0)).toBeCloseTo(1, 5);
  expect(unitVector("a text", 384)).toEqual(vector);
  expect(unitVector("another text", 384)).not.toEqual(vector);
});

test("the raw scan finds the largest dot products, best first", () => {
  const rows = Array.from({ length: 50 }, (_, index) => unitVector(`row ${index}`, 8));
  const vectors = new Float32Array(50 * 8);
  for (const [index, row] of rows.entries()) vectors.set(row, index * 8);
  const query = unitVector("query", 8);
  const scores = rows.map((row) => row.reduce((sum, value, at) => sum + value * (query[at] ?? 0), 0));
  const expected = scores
    .map((score, index) => ({ score, index }))
    .sort((one, other) => other.score - one.score)
    .slice(0, 5)
    .map(({ index }) => index);
  expect(rawTopK(vectors, query, 5)).toEqual(expected);
});

test("the sentences are all different", async () => {
  const texts = await sentences(5_000);
  expect(new Set(texts).size).toBe(5_000);
});
