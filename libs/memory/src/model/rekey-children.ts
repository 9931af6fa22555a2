import { isDescendantPath, LIMITS, type NodeState } from "#core";
import type { NewState } from "../ports/tree-store.js";
import { newState } from "../writing/new-state.js";
import { childPath, keysAfter, positionKeyOf } from "./position-keys.js";

/** The part of a change set that gives the children of one node new position keys. */
export interface Rekeying {
  readonly states: readonly NewState[];
  readonly ends: readonly string[];
}

/** Whether a sibling's key has grown past the limit, so that all of them are to be re-keyed. */
export function needsRekey(children: readonly Pick<NodeState, "pathKey">[]): boolean {
  return children.some((child) => positionKeyOf(child.pathKey).length > LIMITS.positionKeyLength);
}

/**
 * New, evenly spaced position keys for all children of the node at `parentPath`. Repeated inserts between the same two
 * siblings make keys longer by about one character each; appending never does.
 *
 * @param below every live node below the parent in document order: the children's subtrees move with them.
 * @returns the states to add and to end; the vectors and terms of the moved states are the same as before. O(below).
 */
export function rekeyChildren(parentPath: string, below: readonly NodeState[]): Rekeying {
  const children = below.filter((node) => positionKeyOf(node.pathKey) === node.pathKey.slice(prefixLength(parentPath)));
  const keys = keysAfter(undefined, children.length);
  const states: NewState[] = [];
  const ends: string[] = [];
  let child = -1;
  for (const node of below) {
    const current = children[child];
    if (current === undefined || !isDescendantPath(node.pathKey, current.pathKey)) child += 1;
    const root = children[child];
    if (root === undefined) continue;
    const pathKey = childPath(parentPath, keys[child] ?? "") + node.pathKey.slice(root.pathKey.length);
    if (pathKey === node.pathKey) continue;
    states.push({ ...newState(node), pathKey });
    ends.push(node.id);
  }
  return { states, ends };
}

function prefixLength(parentPath: string): number {
  return parentPath === "" ? 0 : parentPath.length + 1;
}
