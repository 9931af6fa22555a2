import { readFile } from "node:fs/promises";
import { describe, expect, test } from "@jest/globals";

interface TreeNode {
  readonly type: string;
  readonly children?: readonly TreeNode[];
}

const read = async (file: string): Promise<unknown> => JSON.parse(await readFile(file, "utf8"));

/** The paths of all nodes, counting siblings of the same type. */
function pathsOf(node: TreeNode, path: string): readonly string[] {
  const seen = new Map<string, number>();
  const below = (node.children ?? []).flatMap((child) => {
    const ordinal = (seen.get(child.type) ?? 0) + 1;
    seen.set(child.type, ordinal);
    return pathsOf(child, `${path}/${child.type}[${ordinal}]`);
  });
  return [path, ...below];
}

describe.each(["acl-trip", "todo-list", "meal-plan"])("the requests on %s", (name) => {
  test("are twenty, with right nodes that exist and are named once", async () => {
    const { tree } = (await read(`examples/${name}.json`)) as { tree: TreeNode };
    const paths = new Set(pathsOf(tree, `/${tree.type}[1]`));
    const { requests } = (await read(`bench/requests/${name}.json`)) as {
      requests: { id: string; right: readonly string[] }[];
    };
    expect(new Set(requests.map(({ id }) => id)).size).toBe(20);
    for (const { id, right } of requests) {
      expect({ id, right: right.length > 0 && right.every((path) => paths.has(path)) }).toEqual({ id, right: true });
      expect(new Set(right).size).toBe(right.length);
    }
  });
});
