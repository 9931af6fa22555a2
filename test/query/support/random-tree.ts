import fc from "fast-check";
import type { AttributeValue, Attributes } from "#core";
import type { Vocabulary } from "./random-query.js";
import type { TestTree } from "./tree.js";

const TYPES = ["A", "B", "C"];
const TEXTS = ["red", "green", "blue", "red green"];
const VALUES: Readonly<Record<string, fc.Arbitrary<AttributeValue>>> = {
  title: fc.constantFrom(...TEXTS, ""),
  cost: fc.oneof(fc.integer({ min: -2, max: 5 }), fc.constantFrom("3", "2.5", "1e1", "many")),
  open: fc.boolean(),
  tags: fc.array(fc.constantFrom("x", "y", "3"), { maxLength: 2 }),
  date: fc.constantFrom(
    "2026-05-01",
    "2026-05-01T00:00:00Z",
    "2026-05-01T02:00:00+02:00",
    "2026-05-02T10:30:00",
    "May",
  ),
};
const NAMES = Object.keys(VALUES);

/** What each name is compared with: mostly values of its own kind, so that some comparisons hold. */
const LITERALS: Readonly<Record<string, readonly (string | number)[]>> = {
  title: ["red", "green", "", 3],
  cost: [0, 2.5, 3, 10, -1, "3", "M"],
  open: ["true", "false", 1],
  tags: ["x", "y", 3, "none"],
  date: ["2026-05-01", "2026-05-02T12:30:00+02:00", "2026-05-01T12:00:00", "M", 2026],
  none: ["x", 1],
};

/** What random trees say, for queries over them. */
export const TREE_WORDS: Vocabulary = {
  types: fc.constantFrom(...TYPES, ...TYPES, ...TYPES, "D"),
  names: fc.constantFrom(...NAMES, ...NAMES, "none"),
  conditions: fc.constantFrom("warm", "cold", "bright"),
  comparisons: fc
    .constantFrom(...NAMES, ...NAMES, "none")
    .chain((name) => fc.tuple(fc.constant(name), fc.constantFrom(...(LITERALS[name] ?? [""])))),
  positions: 4,
};

const values = (names: readonly string[]): fc.Arbitrary<Attributes> =>
  fc
    .array(fc.constantFrom(...names), { maxLength: 2 * names.length, size: "max" })
    .chain((chosen) => fc.tuple(...[...new Set(chosen)].map((name) => fc.tuple(fc.constant(name), VALUES[name]!))))
    .map((entries) => Object.fromEntries(entries));

/** Random trees of small vocabularies, so that queries find something in them: three levels. */
export function randomTrees(maxLength = 3): fc.Arbitrary<readonly TestTree[]> {
  const level = (depth: number): fc.Arbitrary<TestTree> =>
    fc.record({
      type: fc.constantFrom(...TYPES),
      attributes: values(NAMES),
      metadata: values(["cost", "tags", "date"]),
      children:
        depth === 0 ? fc.constant([]) : fc.array(level(depth - 1), { minLength: depth - 1, maxLength, size: "max" }),
    });
  return fc.array(level(2), { minLength: 2, maxLength, size: "max" });
}
