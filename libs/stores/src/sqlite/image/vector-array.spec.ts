import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { holdsFor } from "../../contract/seed.js";
import { inverseLength, Query } from "../../cosine.js";
import { NoRoom, VectorArray } from "./vector-array.js";

const bytesOf = (vector: Float32Array): Uint8Array => new Uint8Array(vector.buffer);

function made(vectors: readonly Float32Array[], capacity = vectors.length): VectorArray {
  const array = new VectorArray(vectors[0]?.length ?? 1, capacity);
  for (const vector of vectors) array.push(bytesOf(vector));
  return array;
}

const cosineOf = (query: Query, vector: Float32Array): number =>
  query.cosine(vector, 0, inverseLength(vector, 0, vector.length));

const cases = fc.integer({ min: 1, max: 21 }).chain((dimension) => {
  const vector = fc.float32Array({ minLength: dimension, maxLength: dimension, noNaN: true, min: -9, max: 9 });
  return fc.record({
    vectors: fc.array(vector, { minLength: 1, maxLength: 9 }),
    own: vector,
    slots: fc.array(fc.integer({ min: -1, max: 8 }), { maxLength: 30 }),
  });
});

test("cosines of slots have the bits of those of single vectors, whatever the dimension", async () => {
  await holdsFor(500, cases, async ({ vectors, own, slots }) => {
    const array = made(vectors);
    const known = slots.filter((slot) => slot < vectors.length);
    const query = new Query(own);
    const expected = known.map((slot) => (slot < 0 ? Number.NaN : cosineOf(query, vectors[slot]!)));
    expect([...array.cosines(own, Int32Array.from(known))]).toEqual(expected);
  });
});

test("more slots than are computed at once, of an array that has grown and of which a vector was replaced", () => {
  const vectors = Array.from({ length: 2_500 }, (_, index) =>
    Float32Array.from({ length: 33 }, (_, at) => Math.sin(index + at * at)),
  );
  const array = made(vectors, 10);
  const later = Float32Array.from({ length: 33 }, (_, at) => Math.cos(at));
  array.set(1_024, bytesOf(later));
  vectors[1_024] = later;
  const query = new Query(vectors[7]!);
  const slots = Int32Array.from({ length: 2_500 }, (_, index) => 2_499 - index);
  const expected = vectors.toReversed().map((vector) => cosineOf(query, vector));
  expect([...array.cosines(vectors[7]!, slots)]).toEqual(expected);
  expect(array.length).toBe(2_500);
  expect(array.bytes).toBeGreaterThan(2_500 * 33 * 4);
  expect(array.bytes).toBeLessThan(2 * 2_500 * 36 * 4);
});

test("an array without vectors has no cosines", () => {
  const array = new VectorArray(8, 0);
  expect(array.cosines(new Float32Array(8).fill(1), Int32Array.of(-1, -1))).toEqual(
    Float64Array.of(Number.NaN, Number.NaN),
  );
});

test("an array that is full says so, and is as it was", () => {
  const vectors = Array.from({ length: 4 }, (_, index) => Float32Array.from({ length: 8_192 }, (_, at) => index + at));
  const array = new VectorArray(8_192, 0, 3);
  const [one, other, third, fourth] = vectors.map(bytesOf);
  array.push(one!);
  array.push(other!);
  array.push(third!);
  expect(() => {
    array.push(fourth!);
  }).toThrow(NoRoom);
  expect(array.length).toBe(3);
  expect(array.bytes).toBeLessThanOrEqual(VectorArray.bytesOf(8_192, 3) + 16 * 8);
  const expected = vectors.slice(0, 3).map((vector) => cosineOf(new Query(vectors[3]!), vector));
  expect([...array.cosines(vectors[3]!, Int32Array.of(0, 1, 2))]).toEqual(expected);
});
