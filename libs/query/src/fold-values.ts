import type { Fold } from "./ast.js";

/**
 * One number of at least one value in [0, 1]; of none it is 0. `avg` is the mean, `gmean` the geometric mean (0 if any is
 * 0; by logarithms, so that many small values do not underflow). Values are taken in their order. O(values).
 */
export function foldValues(fold: Fold, values: ArrayLike<number>): number {
  const count = values.length;
  if (count === 0) return 0;
  let folded = fold === "min" || fold === "max" ? (values[0] ?? 0) : 0;
  for (let at = 0; at < count; at++) {
    const value = values[at] ?? 0;
    switch (fold) {
      case "min":
        if (value < folded) folded = value;
        break;
      case "max":
        if (value > folded) folded = value;
        break;
      case "avg":
        folded += value;
        break;
      case "gmean":
        if (value === 0) return 0;
        folded += Math.log(value);
        break;
    }
  }
  if (fold === "avg") return folded / count;
  return fold === "gmean" ? Math.exp(folded / count) : folded;
}
