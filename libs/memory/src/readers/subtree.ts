import type { NodeState } from "#core";
import type { SubtreeNode } from "../results.js";

interface Growing extends SubtreeNode {
  readonly children: Growing[];
}

/** Nodes in document order, the first above all others, as one tree in the insert shape. O(nodes). */
export function toSubtree(nodes: readonly NodeState[]): SubtreeNode | undefined {
  const byId = new Map<string, Growing>();
  let root: Growing | undefined;
  for (const { id, type, attributes, metadata, parentId } of nodes) {
    const node: Growing = { id, type, attributes, metadata, children: [] };
    byId.set(id, node);
    if (root === undefined) root = node;
    else byId.get(parentId ?? "")?.children.push(node);
  }
  return root;
}
