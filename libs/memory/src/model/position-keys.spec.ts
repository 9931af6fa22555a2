import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { isDescendantPath, type NodeState } from "#core";
import { childPath, keysAfter, positionKeyOf } from "./position-keys.js";
import { needsRekey, rekeyChildren } from "./rekey-children.js";

const byText = (one: string, other: string): number => (one < other ? -1 : 1);

test("appended keys ascend, are ASCII without the separator, and stay short", () => {
  let last: string | undefined;
  const keys: string[] = [];
  for (let batch = 0; batch < 50; batch += 1) {
    keys.push(...keysAfter(last, 100));
    last = keys.at(-1);
  }
  expect([...keys].sort(byText)).toEqual(keys);
  expect(keys.every((key) => /^[0-9A-Za-z]+$/.test(key) && key.length <= 5)).toBe(true);
});

test("string order of path keys is document order, and a subtree is a prefix range", () => {
  // Node i hangs below one of the nodes before it, or the root.
  const parents = fc.array(fc.nat(), { maxLength: 60 });
  fc.assert(
    fc.property(parents, (picks) => {
      const children = new Map<number, number[]>();
      for (const [index, pick] of picks.entries()) {
        const parent = (pick % (index + 1)) - 1;
        children.set(parent, [...(children.get(parent) ?? []), index]);
      }
      const document: { path: string; ancestors: readonly string[] }[] = [];
      const walk = (node: number, path: string, ancestors: readonly string[]): void => {
        const below = children.get(node) ?? [];
        const keys = keysAfter(undefined, below.length);
        for (const [index, child] of below.entries()) {
          const childKey = childPath(path, keys[index]!);
          document.push({ path: childKey, ancestors });
          walk(child, childKey, [...ancestors, childKey]);
        }
      };
      walk(-1, "", []);
      const paths = document.map(({ path }) => path);
      expect([...paths].sort(byText)).toEqual(paths);
      for (const { path, ancestors } of document) {
        expect(paths.filter((other) => isDescendantPath(path, other))).toEqual(ancestors);
      }
    }),
  );
});

test("children with a long key are re-keyed with their subtrees, in the same order", () => {
  const long = `a0${"V".repeat(70)}`;
  const state = (id: string, pathKey: string): NodeState => ({
    id,
    born: 1,
    type: "A",
    parentId: null,
    pathKey,
    depth: pathKey.split(".").length,
    attributes: {},
    metadata: {},
    text: "",
    tokens: 0,
  });
  const below = [state("1", "a0.a0"), state("2", "a0.a0.a0"), state("3", `a0.${long}`), state("4", `a0.${long}.a0`)];
  const children = [below[0]!, below[2]!];
  expect(needsRekey(children)).toBe(true);
  const { states, ends } = rekeyChildren("a0", below);
  expect(ends).toEqual(["3", "4"]);
  expect(states.map(({ pathKey }) => pathKey)).toEqual(["a0.a1", "a0.a1.a0"]);
  expect(needsRekey(states)).toBe(false);
  expect(positionKeyOf("a0.a1")).toBe("a1");
});
