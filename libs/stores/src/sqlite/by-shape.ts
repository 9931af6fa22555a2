import { LRUCache } from "lru-cache";
import { LIMITS } from "#core";

/**
 * Makes what depends on the shape of a request alone, and keeps it for the next request of that shape: to put a statement
 * together takes as long as to read some ten rows.
 */
export function byShape<Shape extends object, Made extends object>(
  make: (shape: Shape) => Made,
): (shape: Shape) => Made {
  const made = new LRUCache<string, Made>({ max: LIMITS.preparedStatements });
  return (shape) => {
    const key = JSON.stringify(shape);
    const known = made.get(key);
    if (known !== undefined) return known;
    const fresh = make(shape);
    made.set(key, fresh);
    return fresh;
  };
}
