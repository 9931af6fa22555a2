import type { NodeState } from "#core";
import type { ChildPage } from "#memory";
import { type Connection, limitTo } from "./connection.js";
import type { MemoryHead } from "./memories.js";
import {
  type Liveness,
  liveCondition,
  liveParameters,
  stateColumns,
  stateOf,
  type StateTuple,
  STATE_WIDTH,
} from "./states.js";

/** Where a read looks: a memory at a revision. */
export interface ReadScope {
  readonly connection: Connection;
  readonly memory: MemoryHead;
  readonly liveness: Liveness;
}

/** States by id, in the ids' order. */
export function readNodes(scope: ReadScope, ids: readonly string[]): readonly NodeState[] {
  return tuples<StateTuple>(
    scope,
    `SELECT ${stateColumns("s")} FROM json_each(:ids) i CROSS JOIN states s INDEXED BY states_by_id
     WHERE s.memory = :memory AND s.id = i.value AND ${liveCondition("s", scope.liveness)}`,
    { ids: JSON.stringify(ids) },
  ).map(stateOf);
}

/** Subtrees in document order, `limit` nodes in all; one statement, whose loops give the order. */
export function readSubtrees(
  scope: ReadScope,
  ids: readonly string[],
  limit: number,
): { readonly nodes: ReadonlyMap<string, readonly NodeState[]>; readonly truncated: readonly string[] } {
  const rows = tuples<readonly [...StateTuple, string]>(
    scope,
    `SELECT ${stateColumns("s")}, r.id FROM json_each(:ids) i
     CROSS JOIN states r INDEXED BY states_by_id
     CROSS JOIN states s INDEXED BY ${scope.liveness.head ? "states_by_path" : "states_by_history"}
     WHERE r.memory = :memory AND r.id = i.value AND ${liveCondition("r", scope.liveness)}
       AND s.memory = :memory AND s.path >= r.path AND s.path < r.path || '/'
       AND (s.path = r.path OR s.path > r.path || '.') AND ${liveCondition("s", scope.liveness)}
     ${limitTo(":limit")}`,
    { ids: JSON.stringify([...new Set(ids)]), limit: limit + 1 },
  );
  const nodes = new Map<string, NodeState[]>();
  for (const row of rows.slice(0, limit)) {
    const root = row[STATE_WIDTH];
    const subtree = nodes.get(root) ?? [];
    subtree.push(stateOf(row as unknown as StateTuple));
    nodes.set(root, subtree);
  }
  const cut = rows[limit]?.[STATE_WIDTH];
  if (cut === undefined) return { nodes, truncated: [] };
  const known = new Set(readNodes(scope, ids).map(({ id }) => id));
  const order = [...new Set(ids)].filter((id) => known.has(id));
  const truncated = order.slice(order.indexOf(cut));
  for (const id of truncated) if (!nodes.has(id)) nodes.set(id, []);
  return { nodes, truncated };
}

/** The path of a parent; undefined if there is no such node. */
function parentAt(
  scope: ReadScope,
  parentId: string | null,
): { readonly path: string; readonly depth: number; readonly children: number } | undefined {
  if (parentId === null) return { path: "", depth: 0, children: scope.memory.children };
  const [row] = tuples<readonly [path: string, depth: number, children: number]>(
    scope,
    `SELECT s.path, s.depth, s.children FROM states s INDEXED BY states_by_id
     WHERE s.memory = :memory AND s.id = :id AND ${liveCondition("s", scope.liveness)}`,
    { id: parentId },
  );
  return row && { path: row[0], depth: row[1], children: row[2] };
}

/** Conditions and parameters of the children of a parent, by an index over depth. */
function childrenOf(
  scope: ReadScope,
  parent: { readonly path: string; readonly depth: number },
): { readonly where: string; readonly parameters: Readonly<Record<string, string | number>> } {
  return {
    where: `s.memory = :memory AND s.depth = :depth AND s.path > :low AND s.path < :high AND ${liveCondition("s", scope.liveness)}`,
    parameters: { depth: parent.depth + 1, low: below(parent.path), high: above(parent.path) },
  };
}

/** A page of children with their own numbers of children. */
export function readChildren(
  scope: ReadScope,
  parentId: string | null,
  page: { readonly limit: number; readonly after?: string },
): ChildPage {
  const parent = parentAt(scope, parentId);
  if (parent === undefined) return { nodes: [] };
  const { where, parameters } = childrenOf(scope, parent);
  const grandchildren = scope.liveness.head
    ? "s.children"
    : `(SELECT count(*) FROM states g INDEXED BY states_by_history WHERE g.memory = :memory AND g.depth = s.depth + 1
         AND g.path > s.path || '.' AND g.path < s.path || '/' AND ${liveCondition("g", scope.liveness)})`;
  const rows = tuples<readonly [...StateTuple, number]>(
    scope,
    `SELECT ${stateColumns("s")}, ${grandchildren} FROM states s INDEXED BY ${depthIndex(scope)}
     WHERE ${where} ORDER BY s.path ${limitTo(":limit")}`,
    { ...parameters, low: page.after ?? below(parent.path), limit: page.limit + 1 },
  );
  const nodes = rows.slice(0, page.limit).map((row) => ({
    ...stateOf(row as unknown as StateTuple),
    children: row[STATE_WIDTH],
  }));
  const last = nodes.at(-1);
  return { nodes, ...(rows.length > page.limit && last !== undefined && { next: last.pathKey }) };
}

export function readLastChild(
  scope: ReadScope,
  parentId: string | null,
): { readonly count: number; readonly last?: NodeState } {
  const parent = parentAt(scope, parentId);
  if (parent === undefined || parent.children === 0) return { count: 0 };
  const { where, parameters } = childrenOf(scope, parent);
  const [row] = tuples<StateTuple>(
    scope,
    `SELECT ${stateColumns("s")} FROM states s INDEXED BY states_by_depth WHERE ${where} ORDER BY s.path DESC LIMIT 1`,
    parameters,
  );
  return { count: parent.children, ...(row !== undefined && { last: stateOf(row) }) };
}

/** From the last child backwards: what is looked for is usually near. */
export function readChildBy(
  scope: ReadScope,
  parentId: string | null,
  child: { readonly type: string; readonly name: string; readonly value: string },
): NodeState | undefined {
  const parent = parentAt(scope, parentId);
  if (parent === undefined) return undefined;
  const { where, parameters } = childrenOf(scope, parent);
  const [row] = tuples<StateTuple>(
    scope,
    `SELECT ${stateColumns("s")} FROM states s INDEXED BY states_by_depth_and_type
     WHERE ${where} AND s.type = :type AND json_type(s.attributes, :name) = 'text' AND s.attributes ->> :name = :value
     ORDER BY s.path DESC LIMIT 1`,
    { ...parameters, type: child.type, name: `$."${child.name}"`, value: child.value },
  );
  return row && stateOf(row);
}

/** Rows are numbered as they are stored, so that the index alone tells the newest. */
export function readNewestGrandchild(scope: ReadScope, id: string, type: string): NodeState | undefined {
  const parent = parentAt(scope, id);
  if (parent === undefined) return undefined;
  const { where, parameters } = childrenOf(scope, { path: parent.path, depth: parent.depth + 1 });
  const [row] = tuples<StateTuple>(
    scope,
    `SELECT ${stateColumns("n")} FROM states n WHERE n.row = (
       SELECT max(s.row) FROM states s INDEXED BY states_by_depth_and_type WHERE ${where} AND s.type = :type)`,
    { ...parameters, type },
  );
  return row && stateOf(row);
}

/** A page of all states in document order. */
export function readPage(
  scope: ReadScope,
  page: { readonly after?: string; readonly limit: number },
): readonly NodeState[] {
  return tuples<StateTuple>(
    scope,
    `SELECT ${stateColumns("s")} FROM states s INDEXED BY states_by_path
     WHERE s.memory = :memory AND s.path > :after AND s.head = 1 ORDER BY s.path ${limitTo(":limit")}`,
    { after: page.after ?? "", limit: page.limit },
  ).map(stateOf);
}

// eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters -- a caller names the rows that its statement has
export function tuples<Row extends readonly unknown[]>(
  { connection, memory, liveness }: ReadScope,
  sql: string,
  parameters: Readonly<Record<string, string | number>>,
): readonly Row[] {
  return connection.tuples<Row>(sql, { memory: memory.row, ...liveParameters(liveness), ...parameters });
}

function depthIndex({ liveness }: ReadScope): string {
  return liveness.head ? "states_by_depth" : "states_by_history";
}

/** Every path below a node lies between these two; the root's is the empty path. */
export const below = (path: string): string => (path === "" ? "" : `${path}.`);
export const above = (path: string): string => (path === "" ? "~" : `${path}/`);
