import type { Attributes, NodeKey } from "#core";

/** A tree as a generator makes it: the shape that inserts take. */
export interface TestTree {
  readonly type: string;
  readonly attributes: Attributes;
  readonly metadata: Attributes;
  readonly children: readonly TestTree[];
}

/** A node of a tree in memory, with its place. */
export interface TestNode {
  readonly key: NodeKey;
  readonly attributes: Attributes;
  readonly metadata: Attributes;
  readonly children: readonly TestNode[];
}

/** The virtual root with everything below it. Ids and path keys say where a node stands. */
export function plantTrees(trees: readonly TestTree[]): TestNode {
  const rootKey: NodeKey = { id: "root", born: 0, type: "Memory", parentId: null, pathKey: "", depth: 0 };
  const plant = (tree: TestTree, parent: NodeKey, index: number): TestNode => {
    const position = `a${String(index).padStart(4, "0")}`;
    const pathKey = parent.pathKey === "" ? position : `${parent.pathKey}.${position}`;
    const key: NodeKey = {
      id: `nod_${pathKey}`,
      born: 1,
      type: tree.type,
      parentId: parent.pathKey === "" ? null : parent.id,
      pathKey,
      depth: parent.depth + 1,
    };
    const children = tree.children.map((child, at) => plant(child, key, at));
    return { key, attributes: tree.attributes, metadata: tree.metadata, children };
  };
  const children = trees.map((tree, at) => plant(tree, rootKey, at));
  return { key: rootKey, attributes: {}, metadata: {}, children };
}

/** The nodes below a node, in document order. */
export function descendantsOf(node: TestNode): readonly TestNode[] {
  return node.children.flatMap((child) => [child, ...descendantsOf(child)]);
}
