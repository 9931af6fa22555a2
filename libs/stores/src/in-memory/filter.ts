import { isDescendantPath, type NodeFilter, type NodeKey } from "#core";

/** Whether a node belongs to a filter. */
export function isInFilter(node: NodeKey, { type, scope }: NodeFilter): boolean {
  if (type !== undefined && node.type !== type) return false;
  return scope.kind === "children"
    ? scope.of.includes(node.parentId)
    : scope.of.some((path) => isDescendantPath(node.pathKey, path));
}

/** The key alone. */
export function keyOfState({ id, born, type, parentId, pathKey, depth }: NodeKey): NodeKey {
  return { id, born, type, parentId, pathKey, depth };
}
