import type { MemoryScope, NodeState } from "#core";
import type { ChildPage, TreeStore } from "#memory";
import type { Transaction } from "./database.js";
import type { Liveness } from "./match-step.js";
import { memoryKey, memoryNotFound } from "./memory-key.js";
import { propertyOf } from "./node-properties.js";
import { NODE_COLUMNS, nodeOf, type NodeRow } from "./node-rows.js";

/** The states that a reader of `$revision` sees. */
export const LIVES = "n.born <= toInteger($revision) AND n.died > toInteger($revision)";

/** Statements that read states. `live` reads the indexes of the head, `memory` those over all states (`Liveness`). */
export const READS = {
  head: `
MATCH (m:Memory {key: $memory})
RETURN m.revision AS revision, m.purged AS purged, m.children AS children`,

  nodes: `
UNWIND $ids AS id
MATCH (n:Node {memory: $memory, id: id}) USING INDEX SEEK n:Node(memory, id, born) WHERE ${LIVES}
RETURN n.children AS children, ${NODE_COLUMNS}`,

  /** In the roots' order: rows of an inner query come in the order of the outer one. */
  subtrees: {
    live: subtreesBy("live"),
    memory: subtreesBy("memory"),
  },

  /** `$low` and `$high` bound the paths below the parent. */
  children: {
    live: `
MATCH (n:Node) USING INDEX SEEK n:Node(live, parent, pathKey) WHERE n.live = $memory AND n.parent = $parent AND n.pathKey > $low AND ${LIVES}
RETURN n.children AS children, ${NODE_COLUMNS}
ORDER BY n.live, n.parent, n.pathKey LIMIT toInteger($limit)`,
    memory: `
MATCH (n:Node) USING INDEX SEEK n:Node(memory, pathKey) WHERE n.memory = $memory AND n.pathKey > $low AND n.pathKey < $high AND n.parent = $parent AND ${LIVES}
RETURN n.children AS children, ${NODE_COLUMNS}
ORDER BY n.memory, n.pathKey LIMIT toInteger($limit)`,
  },

  /** Children of each of `$parents` (id and path) at a revision that is not the head's. */
  countChildren: {
    live: `
UNWIND $parents AS parent
MATCH (n:Node) USING INDEX SEEK n:Node(live, parent, pathKey) WHERE n.live = $memory AND n.parent = parent.id AND n.pathKey > '' AND ${LIVES}
RETURN parent.id AS id, count(*) AS count`,
    memory: `
UNWIND $parents AS parent
MATCH (n:Node) USING INDEX SEEK n:Node(memory, pathKey) WHERE n.memory = $memory AND n.pathKey STARTS WITH parent.path AND n.parent = parent.id AND ${LIVES}
RETURN parent.id AS id, count(*) AS count`,
  },

  lastChild: `
MATCH (n:Node) USING INDEX SEEK n:Node(live, parent, pathKey) WHERE n.live = $memory AND n.parent = $parent AND n.pathKey > '' AND ${LIVES}
RETURN ${NODE_COLUMNS}
ORDER BY n.live DESC, n.parent DESC, n.pathKey DESC LIMIT 1`,

  /** Children before a path whose attribute, or metadata entry, of a name is a value; backwards. */
  childrenBy: `
MATCH (n:Node) USING INDEX SEEK n:Node(live, parent, pathKey) WHERE n.live = $memory AND n.parent = $parent AND n.pathKey < $before
  AND n.type = $type AND n[$property] = $value AND ${LIVES}
RETURN ${NODE_COLUMNS}
ORDER BY n.live DESC, n.parent DESC, n.pathKey DESC LIMIT toInteger($limit)`,

  newestAt: `
MATCH (n:Node) USING INDEX SEEK n:Node(live, type, pathKey) WHERE n.live = $memory AND n.type = $type AND n.pathKey STARTS WITH $path AND n.depth = toInteger($depth)
  AND ${LIVES}
RETURN ${NODE_COLUMNS}
ORDER BY n.born DESC, n.ordinal DESC LIMIT 1`,

  scan: `
MATCH (n:Node) USING INDEX SEEK n:Node(live, pathKey) WHERE n.live = $memory AND n.pathKey > $low AND ${LIVES}
RETURN ${NODE_COLUMNS}
ORDER BY n.live, n.pathKey LIMIT toInteger($limit)`,
} as const;

function subtreesBy(owner: "live" | "memory"): string {
  return `
UNWIND $roots AS root
CALL (root) {
  MATCH (n:Node) USING INDEX SEEK n:Node(${owner}, pathKey) WHERE n.${owner} = $memory AND n.pathKey STARTS WITH root.path AND ${LIVES}
  RETURN n ORDER BY n.${owner}, n.pathKey LIMIT toInteger($limit)
}
RETURN root.id AS root, ${NODE_COLUMNS}
LIMIT toInteger($limit)`;
}

/** Pages in which children are looked through for an attribute. */
const CHILD_PAGE = 50;

/** Where a read looks: a memory at a revision. */
export interface ReadScope {
  readonly transaction: Transaction;
  /** The memory's key. */
  readonly memory: string;
  readonly liveness: Liveness;
  /** Children of the root at the head; undefined at an older revision. */
  readonly rootChildren: number | undefined;
}

type CountedRow = NodeRow & { readonly children: number };

/** The scope of reads at a revision, or at the head. @throws EspalierError `memory_not_found` */
export async function readScope(transaction: Transaction, scope: MemoryScope, revision?: number): Promise<ReadScope> {
  const memory = memoryKey(scope);
  const [head] = await transaction.run<{
    readonly revision: number;
    readonly purged: number;
    readonly children: number;
  }>(READS.head, { memory });
  if (head === undefined) throw memoryNotFound(scope);
  const at = revision ?? head.revision;
  const rootChildren = at === head.revision ? head.children : undefined;
  return { transaction, memory, liveness: { head: at >= head.purged, revision: at }, rootChildren };
}

/** The scope of a read that the head's indexes serve, of a memory that is taken to be there. */
export function headScope(transaction: Transaction, scope: MemoryScope, revision: number): ReadScope {
  return { transaction, memory: memoryKey(scope), liveness: { head: true, revision }, rootChildren: undefined };
}

/** States by id, in the ids' order. */
export async function readNodes(scope: ReadScope, ids: readonly string[]): Promise<readonly NodeState[]> {
  const found = await nodesById(scope, ids);
  return ids.flatMap((id) => found.get(id) ?? []).map(nodeOf);
}

async function nodesById(scope: ReadScope, ids: readonly string[]): Promise<ReadonlyMap<string, CountedRow>> {
  const rows = await run<CountedRow>(scope, READS.nodes, { ids: [...new Set(ids)] });
  return new Map(rows.map((row) => [row.id, row]));
}

/** Subtrees in document order, `limit` nodes in all. */
export async function readSubtrees(
  scope: ReadScope,
  ids: readonly string[],
  limit: number,
): ReturnType<TreeStore["subtrees"]> {
  const roots = await readNodes(scope, [...new Set(ids)]);
  const rows = await run<NodeRow & { readonly root: string }>(scope, READS.subtrees[ownerIn(scope)], {
    roots: roots.map(({ id, pathKey }) => ({ id, path: below(pathKey) })),
    limit: limit + 1,
  });
  const lower = Map.groupBy(rows, ({ root }) => root);
  const nodes = new Map<string, readonly NodeState[]>();
  const truncated: string[] = [];
  let left = limit;
  for (const root of roots) {
    const subtree = [root, ...(lower.get(root.id) ?? []).map(nodeOf)];
    nodes.set(root.id, subtree.slice(0, left));
    if (subtree.length > left) truncated.push(root.id);
    left = Math.max(0, left - subtree.length);
  }
  return { nodes, truncated };
}

/** A page of children with their own numbers of children. */
export async function readChildren(
  scope: ReadScope,
  parentId: string | null,
  { limit, after }: { readonly limit: number; readonly after?: string },
): Promise<ChildPage> {
  const parent = parentId === null ? undefined : (await nodesById(scope, [parentId])).get(parentId);
  if (parentId !== null && parent === undefined) return { nodes: [] };
  const path = parent?.pathKey ?? "";
  const rows = await run<CountedRow>(scope, READS.children[ownerIn(scope)], {
    ...{ parent: parentId ?? "", low: after ?? below(path), high: above(path), limit: limit + 1 },
  });
  const shown = rows.slice(0, limit);
  const counts = scope.rootChildren === undefined ? await countChildren(scope, shown) : undefined;
  const nodes = shown.map((row) => ({
    ...nodeOf(row),
    children: counts === undefined ? row.children : (counts.get(row.id) ?? 0),
  }));
  const last = nodes.at(-1);
  return { nodes, ...(rows.length > limit && last !== undefined && { next: last.pathKey }) };
}

async function countChildren(scope: ReadScope, parents: readonly NodeRow[]): Promise<ReadonlyMap<string, number>> {
  const rows = await run<{ readonly id: string; readonly count: number }>(scope, READS.countChildren[ownerIn(scope)], {
    parents: parents.map(({ id, pathKey }) => ({ id, path: below(pathKey) })),
  });
  return new Map(rows.map(({ id, count }) => [id, count]));
}

/** The last child of a node at the head. */
export async function readLastChild(scope: ReadScope, parentId: string | null): ReturnType<TreeStore["lastChild"]> {
  const parent = parentId === null ? undefined : (await nodesById(scope, [parentId])).get(parentId);
  const count = (parentId === null ? scope.rootChildren : parent?.children) ?? 0;
  if (count === 0) return { count: 0 };
  const [row] = await run<NodeRow>(scope, READS.lastChild, { parent: parentId ?? "" });
  return { count, ...(row !== undefined && { last: nodeOf(row) }) };
}

/** From the last child backwards: what is looked for is usually near. */
export async function readChildBy(
  scope: ReadScope,
  parentId: string | null,
  { type, name, value }: { readonly type: string; readonly name: string; readonly value: string },
): Promise<NodeState | undefined> {
  let before = above("");
  for (;;) {
    const rows = await run<NodeRow>(scope, READS.childrenBy, {
      ...{ parent: parentId ?? "", before, type, property: propertyOf("value", name), value, limit: CHILD_PAGE },
    });
    // The property can be a metadata entry's, where the attribute is missing.
    const found = rows.map(nodeOf).find(({ attributes }) => Object.hasOwn(attributes, name));
    const last = rows.at(-1);
    if (found !== undefined || last === undefined || rows.length < CHILD_PAGE) return found;
    before = last.pathKey;
  }
}

export async function readNewestGrandchild(scope: ReadScope, id: string, type: string): Promise<NodeState | undefined> {
  const [parent] = await readNodes(scope, [id]);
  if (parent === undefined) return undefined;
  const where = { type, path: below(parent.pathKey), depth: parent.depth + 2 };
  const [row] = await run<NodeRow>(scope, READS.newestAt, where);
  return row && nodeOf(row);
}

/** A page of all states in document order. */
export async function readPage(
  scope: ReadScope,
  { after = "", limit }: { readonly after?: string; readonly limit: number },
): Promise<readonly NodeState[]> {
  return (await run<NodeRow>(scope, READS.scan, { low: after, limit })).map(nodeOf);
}

/** Runs a statement in a scope. */
export function run<Row>(
  { transaction, memory, liveness }: ReadScope,
  statement: string,
  parameters: Readonly<Record<string, unknown>>,
): Promise<readonly Row[]> {
  return transaction.run<Row>(statement, { ...parameters, memory, revision: liveness.revision });
}

/** The indexes in which a read finds its states. */
export const ownerIn = ({ liveness }: ReadScope): "live" | "memory" => (liveness.head ? "live" : "memory");

/** Every path below a node lies between these two; the root's is the empty path. */
export const below = (path: string): string => (path === "" ? "" : `${path}.`);
export const above = (path: string): string => (path === "" ? "~" : `${path}/`);
