import { generateNKeysBetween } from "fractional-indexing";
import { PATH_SEPARATOR } from "#core";

/**
 * Order among siblings and in the whole tree. A position key is a fractional-indexing string over `0-9A-Za-z`; a path key
 * joins the position keys from the root with `.`, which sorts below all of them: string order is document order.
 */

/**
 * `count` keys after `last` (`undefined`: the parent has no children yet), in ascending order. A key appended grows with
 * the logarithm of the number of siblings. O(count).
 */
export function keysAfter(last: string | undefined, count: number): readonly string[] {
  return generateNKeysBetween(last ?? null, null, count);
}

/** The path key of a child: `parent` is `""` for the root. ASCII, as both parts are. */
export function childPath(parent: string, positionKey: string): string {
  return parent === "" ? positionKey : `${parent}${PATH_SEPARATOR}${positionKey}`;
}

/** The last part of a path key: the node's own position key. */
export function positionKeyOf(pathKey: string): string {
  return pathKey.slice(pathKey.lastIndexOf(PATH_SEPARATOR) + 1);
}
