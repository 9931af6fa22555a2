import { derivedNodeId, LIMITS, type MemoryScope } from "#core";
import type { Memory, TreeNode } from "../memory.js";
import { checkDepth, tooManyChildren } from "../model/check-tree.js";
import { childPath, keysAfter, positionKeyOf } from "../model/position-keys.js";

import type { PlannedNode } from "../writing/planned-node.js";
import { unknownParent } from "./check-insert.js";
import type { Plan, PlanningReads } from "./plan.js";

/** Where a node is put. */
interface Place {
  readonly parentId: string | null;
  readonly pathKey: string;
  readonly depth: number;
}

/**
 * Appends trees below a node, after its last child. Ids follow from the job and the ordinal in document order, so a second
 * attempt plans the same nodes. Two store reads; O(nodes).
 * @throws EspalierError `node_not_found`, `too_many_children`, `tree_too_deep`
 */
export async function planTree(
  store: PlanningReads,
  memory: Memory,
  insert: { readonly roots: readonly TreeNode[]; readonly under: string | null },
  jobId: string,
): Promise<Plan> {
  const scope: MemoryScope = { tenant: memory.tenant, memory: memory.id };
  const parent = await findParent(store, scope, memory.revision, insert.under);
  const { count, last } = await store.lastChild(scope, insert.under);
  const children = count + insert.roots.length;
  if (children > LIMITS.nodeChildren) throw tooManyChildren(children, { path: "under" });

  const nodes: PlannedNode[] = [];
  const place = (node: TreeNode, { parentId, pathKey, depth }: Place): string => {
    checkDepth(depth, { path: "tree" });
    const id = derivedNodeId(jobId, nodes.length);
    nodes.push({ id, type: node.type, parentId, pathKey, depth, attributes: node.attributes, metadata: node.metadata });
    const keys = keysAfter(undefined, node.children.length);
    for (const [index, child] of node.children.entries()) {
      place(child, { parentId: id, pathKey: childPath(pathKey, keys[index] ?? ""), depth: depth + 1 });
    }
    return id;
  };
  const keys = keysAfter(last && positionKeyOf(last.pathKey), insert.roots.length);
  const roots = insert.roots.map((root, index) =>
    place(root, {
      parentId: insert.under,
      pathKey: childPath(parent.pathKey, keys[index] ?? ""),
      depth: parent.depth + 1,
    }),
  );
  return { nodes, roots };
}

async function findParent(
  store: PlanningReads,
  scope: MemoryScope,
  revision: number,
  under: string | null,
): Promise<{ readonly pathKey: string; readonly depth: number }> {
  if (under === null) return { pathKey: "", depth: 0 };
  const [parent] = await store.nodes(scope, revision, [under]);
  if (parent === undefined) throw unknownParent(under);
  return parent;
}
