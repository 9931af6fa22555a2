import type { DatabaseSync, SQLOutputValue } from "node:sqlite";
import { LRUCache } from "lru-cache";
import { type AttributeValue, LIMITS, PATH_SEPARATOR } from "#core";
import { compare, type Comparison } from "#query";

/**
 * Registers what statements ask of this program:
 *
 * - `comparison_holds(value, comparison)`: whether a value (JSON, NULL when the name is missing) fulfils a comparison (JSON).
 *   The language's own rules decide, in every store, so that no value is compared by SQLite's.
 * - `ancestor_paths(path)`: the path keys of a node's ancestors, as a JSON array.
 */
export function registerFunctions(database: DatabaseSync): void {
  const comparisons = new LRUCache<string, Comparison>({ max: LIMITS.preparedStatements });
  const parsed = (text: string): Comparison => {
    const known = comparisons.get(text);
    if (known !== undefined) return known;
    const comparison = JSON.parse(text) as Comparison;
    comparisons.set(text, comparison);
    return comparison;
  };
  database.function(
    "comparison_holds",
    { deterministic: true },
    (value: SQLOutputValue, comparison: SQLOutputValue) => {
      if (typeof value !== "string") return 0;
      const { operator, value: literal } = parsed(String(comparison));
      return compare(JSON.parse(value) as AttributeValue, operator, literal) ? 1 : 0;
    },
  );
  database.function("ancestor_paths", { deterministic: true }, (path: SQLOutputValue) => {
    const keys = String(path).split(PATH_SEPARATOR);
    return JSON.stringify(keys.slice(1).map((_, index) => keys.slice(0, index + 1).join(PATH_SEPARATOR)));
  });
}
