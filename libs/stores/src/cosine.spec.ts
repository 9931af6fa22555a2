import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { holdsFor } from "./contract/seed.js";
import { inverseLength, Query } from "./cosine.js";

const number = fc.integer({ min: -9, max: 9 });
const vectors = fc
  .integer({ min: 1, max: 11 })
  .chain((dimension) =>
    fc.tuple(
      fc.array(number, { minLength: dimension, maxLength: dimension }),
      fc.array(number, { minLength: 2 * dimension, maxLength: 2 * dimension }),
    ),
  );

test("cosines of any dimension are the textbook's, wherever the vector lies", async () => {
  await holdsFor(300, vectors, async ([own, both]) => {
    const dimension = own.length;
    const matrix = Float32Array.from(both);
    const query = new Query(Float32Array.from(own));
    const inverse = Float64Array.of(inverseLength(matrix, 0, dimension), inverseLength(matrix, dimension, dimension));
    const expected = [0, 1].map((slot) => {
      const other = both.slice(slot * dimension, (slot + 1) * dimension);
      const product = own.reduce((sum, value, index) => sum + value * other[index]!, 0);
      const lengths = Math.hypot(...own) * Math.hypot(...other);
      return lengths === 0 ? 0 : product / lengths;
    });
    for (const slot of [0, 1]) {
      expect(query.cosine(matrix, slot * dimension, inverse[slot]!)).toBeCloseTo(expected[slot]!, 12);
    }
  });
});
