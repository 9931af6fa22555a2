import type { NodeState } from "#core";
import type { NewState } from "../ports/tree-store.js";

/** A state that follows a stored one: the same node, born anew at the commit. */
export function newState(of: NodeState): NewState {
  const { id, type, parentId, pathKey, depth, attributes, metadata, text, tokens } = of;
  return { id, type, parentId, pathKey, depth, attributes, metadata, text, tokens };
}
