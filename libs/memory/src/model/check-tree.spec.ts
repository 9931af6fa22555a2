import { expect, test } from "@jest/globals";
import { LIMITS } from "#core";
import { errorOf } from "../testing/error-of.js";
import { checkTree } from "./check-tree.js";

const codeAt = (tree: unknown): [code: string, path: unknown] => {
  const { code, details } = errorOf(() => checkTree(tree));
  return [code, details["path"]];
};

test("a tree comes back with empty parts filled in and attributes in their order", () => {
  const [root] = checkTree({ type: "Day", attributes: { z: 1, a: ["x", "y"], ok: true }, children: [{ type: "POI" }] });
  expect(root).toEqual({
    type: "Day",
    attributes: { z: 1, a: ["x", "y"], ok: true },
    metadata: {},
    children: [{ type: "POI", attributes: {}, metadata: {}, children: [] }],
  });
  expect(Object.keys(root!.attributes)).toEqual(["z", "a", "ok"]);
});

test("an array of trees keeps its order", () => {
  expect(checkTree([{ type: "A" }, { type: "B" }]).map(({ type }) => type)).toEqual(["A", "B"]);
});

test("right-to-left, CJK and emoji texts and names pass", () => {
  const tree = { type: "行程", attributes: { שם: "טיול לירושלים 🕍", 名前: "東京の会議" } };
  expect(checkTree(tree)[0]?.attributes).toEqual(tree.attributes);
});

test.each([
  '{"type":"A","attributes":{"__proto__":"x"}}',
  '{"type":"A","metadata":{"__proto__":"x"}}',
  '{"type":"__proto__"}',
])("__proto__ names nothing: %s", (json) => {
  expect(codeAt(JSON.parse(json))[0]).toBe("reserved_name");
});

test("what is too many is refused before any of it is looked at", () => {
  const untouched = (): never => {
    throw new Error("looked at");
  };
  const attributes = {};
  for (let index = 0; index <= LIMITS.nodeAttributes; index += 1) {
    Object.defineProperty(attributes, `a${index}`, { enumerable: true, get: untouched });
  }
  expect(codeAt({ type: "A", attributes })).toEqual(["too_many_attributes", "tree.attributes"]);
  const list = Object.defineProperty(new Array(LIMITS.attributeBytes + 1).fill(""), "0", { get: untouched });
  expect(codeAt({ type: "A", attributes: { list } })).toEqual(["attribute_too_large", "tree.attributes.list"]);
});

test("problems are located by the path of the offending part", () => {
  const wrap = (child: unknown): unknown => ({ type: "Root", children: [{ type: "A" }, child] });
  expect(codeAt(wrap({ type: "B", attributes: { cost: null } }))).toEqual([
    "invalid_attribute",
    "tree.children[1].attributes.cost",
  ]);
  expect(codeAt([{ type: "A" }, { type: "B", metadata: { x: { y: 1 } } }])).toEqual([
    "invalid_attribute",
    "tree[1].metadata.x",
  ]);
  expect(codeAt(wrap({ type: "B", attributes: { tags: ["a", "\0"] } }))).toEqual([
    "invalid_text",
    "tree.children[1].attributes.tags[1]",
  ]);
});

test.each([
  ["no node", 7, "invalid_request", "tree"],
  ["null", null, "invalid_request", "tree"],
  ["an empty list", [], "invalid_request", "tree"],
  ["a missing type", {}, "invalid_request", "tree.type"],
  ["a type of a wrong kind", { type: 3 }, "invalid_request", "tree.type"],
  ["an unknown field", { type: "A", kids: [] }, "invalid_request", "tree.kids"],
  ["a returned id", { type: "A", id: "nod_x" }, "invalid_request", "tree.id"],
  ["attributes that are a list", { type: "A", attributes: [] }, "invalid_request", "tree.attributes"],
  ["children that are no list", { type: "A", children: {} }, "invalid_request", "tree.children"],
  ["a type with a space", { type: "A B" }, "invalid_name", "tree.type"],
  ["an empty type", { type: "" }, "invalid_name", "tree.type"],
  ["a type that begins with a digit", { type: "1A" }, "invalid_name", "tree.type"],
  ["a type that is not in NFC", { type: "Cafe\u0301" }, "invalid_name", "tree.type"],
  ["a metadata name with a space", { type: "A", metadata: { "a b": 1 } }, "invalid_name", "tree.metadata.a b"],
  ["the type Memory", { type: "Memory" }, "reserved_name", "tree.type"],
  ["the type Version", { type: "Version" }, "reserved_name", "tree.type"],
  ["the attribute node", { type: "A", attributes: { node: "x" } }, "reserved_name", "tree.attributes.node"],
  ["a list of numbers", { type: "A", attributes: { a: [1] } }, "invalid_attribute", "tree.attributes.a"],
  ["an infinite number", { type: "A", attributes: { a: Number("1e999") } }, "invalid_attribute", "tree.attributes.a"],
  ["a NUL", { type: "A", attributes: { a: "x\0y" } }, "invalid_text", "tree.attributes.a"],
  ["a lone surrogate", { type: "A", attributes: { a: "x\ud800" } }, "invalid_text", "tree.attributes.a"],
] as const)("%s is refused", (_what, tree, code, path) => {
  expect(codeAt(tree)).toEqual([code, path]);
});

test("a name has 128 characters at most, whatever their size in UTF-16", () => {
  const long = "\u{20000}".repeat(LIMITS.nameLength);
  expect(checkTree({ type: long })).toHaveLength(1);
  expect(codeAt({ type: `${long}a` })).toEqual(["name_too_long", "tree.type"]);
});

test("an attribute's limit is in UTF-8 bytes, and lists count as their text", () => {
  const fits = "é".repeat(LIMITS.attributeBytes / 2);
  expect(checkTree({ type: "A", attributes: { a: fits } })).toHaveLength(1);
  expect(codeAt({ type: "A", attributes: { a: `${fits}x` } })[0]).toBe("attribute_too_large");
  expect(codeAt({ type: "A", attributes: { a: "x".repeat(1_000_000) } })[0]).toBe("attribute_too_large");
  const half = "x".repeat(LIMITS.attributeBytes / 2);
  expect(codeAt({ type: "A", attributes: { a: [half, half] } })[0]).toBe("attribute_too_large");
});

test("attributes and metadata are counted apart", () => {
  const many = (count: number): Record<string, number> =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`a${index}`, index]));
  expect(checkTree({ type: "A", attributes: many(64), metadata: many(64) })).toHaveLength(1);
  expect(codeAt({ type: "A", attributes: many(65) })).toEqual(["too_many_attributes", "tree.attributes"]);
  expect(codeAt({ type: "A", metadata: many(65) })).toEqual(["too_many_attributes", "tree.metadata"]);
});

test("a tree has 64 levels at most", () => {
  const chain = (depth: number): unknown => (depth === 1 ? { type: "A" } : { type: "A", children: [chain(depth - 1)] });
  expect(checkTree(chain(LIMITS.treeDepth))).toHaveLength(1);
  expect(codeAt(chain(LIMITS.treeDepth + 1))[0]).toBe("tree_too_deep");
});

test("an insert has 50,000 nodes at most, and a node 100,000 children", () => {
  const leaves = (count: number): unknown[] => new Array(count).fill({ type: "A" });
  expect(checkTree(leaves(LIMITS.insertNodes))).toHaveLength(LIMITS.insertNodes);
  expect(codeAt(leaves(LIMITS.insertNodes + 1))[0]).toBe("too_many_nodes");
  expect(codeAt({ type: "A", children: leaves(LIMITS.nodeChildren + 1) })).toEqual([
    "too_many_children",
    "tree.children",
  ]);
});
