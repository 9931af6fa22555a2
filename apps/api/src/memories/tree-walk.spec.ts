import { expect, test } from "@jest/globals";
import fc from "fast-check";
import type { ChildPage } from "#memory";
import { walkTree, type WalkPlace } from "./tree-walk.js";

type Child = ChildPage["nodes"][number];

interface Shape {
  readonly children: readonly Shape[];
}

const { tree } = fc.letrec<{ tree: Shape; leaf: Shape; inner: Shape }>((tie) => ({
  tree: fc.oneof({ depthSize: "medium" }, tie("leaf"), tie("inner")),
  leaf: fc.constant({ children: [] }),
  inner: fc.record({ children: fc.array(tie("tree"), { minLength: 1, maxLength: 4 }) }),
}));

/** Nodes in document order, named and keyed by their place: `a`, `a.b`, … */
function listed(shape: Shape, pathKey = ""): Child[] {
  return shape.children.flatMap((child, index) => {
    const own = `${pathKey === "" ? "" : `${pathKey}.`}${String.fromCodePoint(97 + index)}`;
    const node = {
      ...{ id: own, born: 1, type: "A", parentId: pathKey === "" ? null : pathKey, pathKey: own },
      ...{ depth: own.split(".").length, attributes: {}, metadata: {}, text: "", tokens: 0 },
      children: child.children.length,
    };
    return [node, ...listed(child, own)];
  });
}

const childrenIn =
  (nodes: readonly Child[]) =>
  async (parent: string | null, page: { readonly limit: number; readonly after?: string }): Promise<ChildPage> => {
    const all = nodes.filter(({ parentId, pathKey }) => parentId === parent && pathKey > (page.after ?? ""));
    const told = all.slice(0, page.limit);
    const next = told.at(-1)?.pathKey;
    return { nodes: told, ...(all.length > told.length && next !== undefined && { next }) };
  };

test("pages of any size add up to the nodes of the depth, in document order, from the root and from any node", async () => {
  await fc.assert(
    fc.asyncProperty(
      tree,
      fc.integer({ min: 1, max: 6 }),
      fc.integer({ min: 1, max: 5 }),
      fc.nat(),
      async (shape, depth, limit, pick) => {
        const nodes = listed(shape);
        const top = nodes.length === 0 || pick % 3 === 0 ? undefined : nodes[pick % nodes.length];
        const base = top?.depth ?? 0;
        const wanted = nodes.filter(
          (node) => (top === undefined || node.pathKey.startsWith(`${top.pathKey}.`)) && node.depth <= base + depth,
        );
        const seen: string[] = [];
        let from: WalkPlace | undefined;
        do {
          const page = await walkTree({
            under: top?.id ?? null,
            base,
            depth,
            limit,
            from,
            children: childrenIn(nodes),
          });
          expect(page.nodes.length).toBeLessThanOrEqual(limit);
          expect(page.place === undefined || page.nodes.length === limit).toBe(true);
          seen.push(...page.nodes.map(({ id }) => id));
          from = page.place;
        } while (from !== undefined);
        expect(seen).toEqual(wanted.map(({ id }) => id));
      },
    ),
    { numRuns: 300 },
  );
});

test("children of one node come in one call", async () => {
  const nodes = listed({ children: Array.from({ length: 20 }, () => ({ children: [] })) });
  let calls = 0;
  const children = childrenIn(nodes);
  const page = await walkTree({
    ...{ under: null, base: 0, depth: 1, limit: 20 },
    children: (...call) => {
      calls += 1;
      return children(...call);
    },
  });
  expect(page.nodes).toHaveLength(20);
  expect(page.place).toBeUndefined();
  expect(calls).toBe(1);
});
