/** Positions that end a run: cut in the statement itself or before it, they select what they select of the whole set. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { RunRow, StructuralRun, StructuralStep } from "#query";
import { change, comparison, index, newMemory, range, SCOPE, state, step, TENANT } from "../contract/fixtures.js";
import type { Stores } from "../stores.js";
import { openStores } from "./open-stores.js";

let stores: Stores;
beforeAll(async () => {
  stores = openStores({ folder: ":memory:" });
  await stores.tree.createMemory(TENANT, newMemory(SCOPE.memory));
  const cost = (value: number) => ({ attributes: { cost: value } });
  const states = [
    ...[state("a0", "Root"), state("a0.a0", "A"), state("a0.a0.a0", "B", cost(1)), state("a0.a0.a1", "A")],
    ...[state("a0.a0.a1.a0", "B", cost(2)), state("a0.a0.a1.a1", "B", cost(3)), state("a0.a0.a2", "B", cost(4))],
    ...[state("a0.a1", "B", cost(5)), state("a0.a2", "A"), state("a0.a2.a0", "B", cost(6))],
  ];
  await stores.tree.commit(SCOPE, change(0, { states }));
  // The same tree once more at the head, so that revision 1 is read through the index over all states.
  await stores.tree.commit(SCOPE, change(1, { states: [state("a1", "Other")] }));
});
afterAll(() => stores.close());

const rowsOf = async (
  revision: number,
  steps: readonly StructuralStep[],
  run: Partial<StructuralRun> = {},
): Promise<readonly RunRow[]> =>
  (await stores.tree.run(SCOPE, revision, { contexts: "root", values: true, steps, ...run })).rows;

const PATHS: readonly (readonly [string, readonly StructuralStep[]])[] = [
  ["//B", [step("descendant", "B")]],
  ["//A//B, nested contexts", [step("descendant", "A"), step("descendant", "B")]],
  ["//A/B, nested contexts", [step("descendant", "A"), step("child", "B")]],
  ["//Root//B, the only one of its type", [step("descendant", "Root"), step("descendant", "B")]],
  ["//Root/*", [step("descendant", "Root"), step("child")]],
  ["//B//Other, upwards", [step("descendant", "B"), step("descendant", "Other")]],
];
/** Positions with what they leave of an array. */
const POSITIONS = [
  [index(1), (rows: readonly RunRow[]) => rows.slice(0, 1)],
  [index(-2), (rows: readonly RunRow[]) => rows.slice(0, -1).slice(-1)],
  [range(2, 3), (rows: readonly RunRow[]) => rows.slice(1, 3)],
  [range(2), (rows: readonly RunRow[]) => rows.slice(1)],
  [range(-3), (rows: readonly RunRow[]) => rows.slice(-3)],
  [range(-3, -2), (rows: readonly RunRow[]) => rows.slice(0, -1).slice(-2)],
  [range(2, -2), (rows: readonly RunRow[]) => rows.slice(1, -1)],
] as const;
const WEIGHTS = [
  { id: "nod_a0.a0", pathKey: "a0.a0", weight: 0.5 },
  { id: "nod_a0.a0.a1", pathKey: "a0.a0.a1", weight: 1 },
  { id: "nod_a0.a2", pathKey: "a0.a2", weight: 0.25 },
];

/** The last step with a position and with comparisons behind it. */
const ending = (
  steps: readonly StructuralStep[],
  position: StructuralStep["position"],
  comparisons: StructuralStep["comparisons"] = [],
): readonly StructuralStep[] => [...steps.slice(0, -1), { ...steps.at(-1)!, position, comparisons }];

describe.each([1, 2])("at revision %i", (revision) => {
  test.each(PATHS)("%s", async (_, steps) => {
    const all = await rowsOf(revision, steps);
    for (const [position, cut] of POSITIONS) {
      const expected = cut(all);
      expect(await rowsOf(revision, ending(steps, position))).toEqual(expected);
      for (const limit of [1, 2, 100]) {
        const limited = await rowsOf(revision, ending(steps, position), { limit });
        expect(limited.slice(0, limit)).toEqual(expected.slice(0, limit));
      }
    }
  });

  test("comparisons and further steps count from what a position left", async () => {
    const [bs, as] = [
      await rowsOf(revision, [step("descendant", "B")]),
      await rowsOf(revision, [step("descendant", "A")]),
    ];
    for (const [position, cut] of POSITIONS) {
      const costly = await rowsOf(revision, ending([step("descendant", "B")], position, [comparison("cost", ">", 2)]));
      expect(costly).toEqual(cut(bs).filter(({ attributes }) => Number(attributes?.["cost"]) > 2));
      const below = await rowsOf(revision, [step("descendant", "A", position), step("child", "B")]);
      const parents = new Set(cut(as).map(({ key }) => key.id));
      expect(below).toEqual(bs.filter(({ key }) => parents.has(key.parentId ?? "")));
    }
  });

  test("weights of contexts go with the rows that are left", async () => {
    for (const axis of ["child", "descendant"] as const) {
      const all = await rowsOf(revision, [step(axis, "B")], { contexts: WEIGHTS });
      expect(new Set(all.map(({ weight }) => weight))).toEqual(new Set([0.5, 1, 0.25]));
      for (const [position, cut] of POSITIONS) {
        expect(await rowsOf(revision, [step(axis, "B", position)], { contexts: WEIGHTS })).toEqual(cut(all));
      }
    }
  });
});
