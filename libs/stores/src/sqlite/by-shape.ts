import { LRUCache } from "lru-cache";
import { LIMITS } from "#core";

/**
 * Makes a statement from a request without its contexts, its memory and its revision, and keeps it for the next such request,
 * with the same literals: to put a statement together takes as long as to read some ten rows.
 */
export function byShape<Shape extends object, Made extends { readonly sql: string }>(
  make: (shape: Shape) => Made,
): (shape: Shape) => Made {
  const made = new LRUCache<string, Made>({
    ...{ max: LIMITS.preparedStatements, maxSize: LIMITS.preparedCharacters },
    sizeCalculation: ({ sql }, key) => sql.length + key.length,
  });
  return (shape) => {
    const key = JSON.stringify(shape);
    const known = made.get(key);
    if (known !== undefined) return known;
    const fresh = make(shape);
    made.set(key, fresh);
    return fresh;
  };
}
