import { EspalierError, LIMITS } from "#core";
import type { TreeNode } from "../memory.js";
import { checkAttributes, invalidRequest, isPlainObject, notOfKind } from "./check-values.js";
import { checkName, type Location } from "./names.js";

const FIELDS: ReadonlySet<string> = new Set(["type", "attributes", "metadata", "children"]);

/** What is counted over one insert. */
interface Tally {
  nodes: number;
}

/**
 * A JSON tree, or an array of them, as it came over the wire. The first problem is thrown with the path of the offending
 * part in `details.path`, like `tree.children[3].attributes.cost`. O(size); recursion is bounded by LIMITS.treeDepth.
 * @throws EspalierError `invalid_request`, `invalid_name`, `reserved_name`, `invalid_attribute`, `invalid_text`,
 * `attribute_too_large`, `too_many_attributes`, `too_many_children`, `too_many_nodes`, `tree_too_deep`
 */
export function checkTree(tree: unknown): readonly TreeNode[] {
  const tally = { nodes: 0 };
  if (!Array.isArray(tree)) return [checkNode(tree, { path: "tree" }, 1, tally)];
  if (tree.length === 0) throw invalidRequest({ path: "tree" }, "expected at least one node");
  return checkChildren(tree, { path: "tree" }, 1, tally);
}

function checkNode(value: unknown, at: Location, depth: number, tally: Tally): TreeNode {
  if (!isPlainObject(value)) throw notOfKind(at, "a node: an object with a type", value);
  checkDepth(depth, at);
  countNode(tally, at);
  for (const field of Object.keys(value)) {
    if (!FIELDS.has(field)) throw unknownField(field, at);
  }
  const part = (name: string): Location => ({ path: `${at.path}.${name}` });
  const { type, attributes, metadata, children } = value as Readonly<Record<string, unknown>> & Partial<RawNode>;
  if (typeof type !== "string") throw notOfKind(part("type"), "a string", type);
  checkName(type, "type", part("type"));
  return {
    type,
    attributes: checkAttributes(attributes, "attribute", part("attributes")),
    metadata: checkAttributes(metadata, "metadata", part("metadata")),
    children: children === undefined ? [] : checkChildren(children, part("children"), depth + 1, tally),
  };
}

/** The fields of a node before they are checked. */
interface RawNode {
  readonly type: unknown;
  readonly attributes: unknown;
  readonly metadata: unknown;
  readonly children: unknown;
}

function checkChildren(value: unknown, at: Location, depth: number, tally: Tally): readonly TreeNode[] {
  if (!Array.isArray(value)) throw notOfKind(at, "a list of nodes", value);
  if (value.length > LIMITS.nodeChildren) throw tooManyChildren(value.length, at);
  return value.map((child, index) => checkNode(child, { path: `${at.path}[${index}]` }, depth, tally));
}

/** @throws EspalierError `tree_too_deep`; `depth` is 1 for a child of the root. */
export function checkDepth(depth: number, at: Location): void {
  if (depth <= LIMITS.treeDepth) return;
  throw new EspalierError("tree_too_deep", `${at.path}: deeper than ${LIMITS.treeDepth} levels.`, {
    details: { ...at, limit: LIMITS.treeDepth },
  });
}

/** Counts one more node of the insert. @throws EspalierError `too_many_nodes` */
export function countNode(tally: Tally, at: Location): void {
  tally.nodes += 1;
  if (tally.nodes <= LIMITS.insertNodes) return;
  throw new EspalierError("too_many_nodes", `The insert has more than ${LIMITS.insertNodes} nodes.`, {
    details: { ...at, limit: LIMITS.insertNodes },
  });
}

/** @returns the error of a node that has, or would get, too many children. */
export function tooManyChildren(count: number, at: Location): EspalierError {
  return new EspalierError("too_many_children", `${at.path}: ${count} children; the limit is ${LIMITS.nodeChildren}.`, {
    details: { ...at, limit: LIMITS.nodeChildren },
  });
}

function unknownField(field: string, at: Location): EspalierError {
  const hint = field === "id" ? " (ids are given by the memory; leave out those of a returned subtree)" : "";
  const name = field.slice(0, 40).toWellFormed();
  return invalidRequest(
    { path: `${at.path}.${name}` },
    `unknown field${hint}; expected type, attributes, metadata, children`,
  );
}
