/** How SQLite reads what the statements ask for: always index ranges, and no sort where an index has the order. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { systemClock } from "#core";
import type { NodeFilter } from "#core";
import type { StructuralStep } from "#query";
import { comparison, index, range, step } from "../contract/fixtures.js";
import { Database } from "./database.js";
import { evidenceStatement } from "./evidence-statement.js";
import { filterSelect } from "./filter-conditions.js";
import { TREE_MIGRATIONS } from "./migrations.js";
import { type CountNodes, runStatement, type Statement } from "./run-statement.js";

const HEAD = { head: true, revision: 1 };
const PAST = { head: false, revision: 1 };
const EQUAL_COUNTS: CountNodes = () => 100;
const ONE_OF_EACH: CountNodes = () => 1;
/** Many sections, few notes. */
const FEW_NOTES: CountNodes = (type) => (type === "Note" ? 10 : 10_000);

let database: Database;
beforeAll(() => {
  database = Database.open({
    ...{ path: ":memory:", migrations: TREE_MIGRATIONS, synchronous: "full", lockWaitMs: 0, clock: systemClock },
  });
});
afterAll(() => database.close());

const planOf = async ({ sql, parameters }: Statement): Promise<readonly string[]> =>
  database.read((connection) =>
    connection.all<{ readonly detail: string }>(`EXPLAIN QUERY PLAN ${sql}`, parameters).map(({ detail }) => detail),
  );

const planOfRun = (
  steps: readonly StructuralStep[],
  liveness = HEAD,
  counts = EQUAL_COUNTS,
): Promise<readonly string[]> => planOf(runStatement({ contexts: "root", steps, values: true }, 1, liveness, counts));

/** Reads of the states (aliases `n1`, `s`, …) that are not searches of an index; the statement's own sets may be scanned. */
const scansOf = (plan: readonly string[]): readonly string[] =>
  plan.filter((line) => /AUTOMATIC|^SCAN (?!set\d|contexts|CONSTANT ROW|\(subquery|\w+ VIRTUAL TABLE)/.test(line));
const sortsOf = (plan: readonly string[]): readonly string[] => plan.filter((line) => line.includes("TEMP B-TREE"));

const SORTED_BY_INDEX: readonly (readonly [string, readonly StructuralStep[]])[] = [
  ["//T", [step("descendant", "T")]],
  ["//*", [step("descendant")]],
  ["/A", [step("child", "A")]],
  ["/*", [step("child")]],
  ["/A/B", [step("child", "A"), step("child", "B")]],
  ["/A/*/B", [step("child", "A"), step("child"), step("child", "B")]],
  ["/A//B", [step("child", "A"), step("descendant", "B")]],
  ["//A//B", [step("descendant", "A"), step("descendant", "B")]],
  ["//T[3]", [step("descendant", "T", index(3))]],
  ["//T[-1]", [step("descendant", "T", index(-1))]],
  ["//T[2:5]", [step("descendant", "T", range(2, 5))]],
  ["//T[-3:]", [step("descendant", "T", range(-3))]],
  ["/A/B[-3:]", [step("child", "A"), step("child", "B", range(-3))]],
  ["/A/B[2]", [step("child", "A"), step("child", "B", index(2))]],
  ["/A/B[-2]", [step("child", "A"), step("child", "B", index(-2))]],
  ["//A[2]//B", [step("descendant", "A", index(2)), step("descendant", "B")]],
  ["//A[2]/B[1]", [step("descendant", "A", index(2)), step("child", "B", index(1))]],
  ["//T[name=x]", [step("descendant", "T", undefined, [comparison("name", "=", "x")])]],
  ["/A/B[2][cost<20]", [step("child", "A"), step("child", "B", index(2), [comparison("cost", "<", 20)])]],
];

describe("a run from the root", () => {
  test.each(SORTED_BY_INDEX)("%s reads index ranges in their order", async (_, steps) => {
    const plan = await planOfRun(steps);
    expect({ scans: scansOf(plan), sorts: sortsOf(plan) }).toEqual({ scans: [], sorts: [] });
  });

  test("//T is one range of the index by type", async () => {
    expect(await planOfRun([step("descendant", "T")])).toEqual([
      "SEARCH n1 USING INDEX states_by_type (memory=? AND type=?)",
    ]);
  });

  test("a position that ends the run reads its nodes once, from that end", async () => {
    for (const position of [index(3), range(2, 5), range(-3)]) {
      expect(await planOfRun([step("descendant", "T", position)])).toEqual([
        "SEARCH n1 USING INDEX states_by_type (memory=? AND type=?)",
      ]);
    }
  });

  test("below the only node of a type nothing is nested", async () => {
    const plan = await planOfRun([step("descendant", "A"), step("descendant", "B")], HEAD, ONE_OF_EACH);
    expect(plan).toEqual([
      "SEARCH n1 USING COVERING INDEX states_by_type (memory=? AND type=?)",
      "SEARCH n2 USING INDEX states_by_type (memory=? AND type=? AND path>? AND path<?)",
    ]);
  });

  test.each([
    ["//A/B", [step("descendant", "A"), step("child", "B")]],
    ["//A[-3:]//B", [step("descendant", "A", range(-3)), step("descendant", "B")]],
    ["//A[2:-2]", [step("descendant", "A", range(2, -2))]],
    ["//A[-2:2]", [step("descendant", "A", range(-2, 2))]],
    ["//A//B//C", [step("descendant", "A"), step("descendant", "B"), step("descendant", "C")]],
  ] as const)("%s reads index ranges and sorts at most what it found", async (_, steps) => {
    expect(scansOf(await planOfRun(steps))).toEqual([]);
  });

  test("a few nodes under very many look upwards, and the many are not read", async () => {
    for (const axis of ["descendant", "child"] as const) {
      const plan = await planOfRun([step("descendant", "Section"), step(axis, "Note")], HEAD, FEW_NOTES);
      expect({ scans: scansOf(plan), sorts: sortsOf(plan) }).toEqual({ scans: [], sorts: [] });
      expect(plan[0]).toBe("SEARCH n2 USING INDEX states_by_type (memory=? AND type=?)");
      expect(plan.filter((line) => line.includes("n1")).join()).toMatch(/memory=\? AND type=\? AND path=\?/);
    }
  });

  test("an older revision is read through the index over all states", async () => {
    for (const [, steps] of SORTED_BY_INDEX) expect(scansOf(await planOfRun(steps, PAST))).toEqual([]);
    expect((await planOfRun([step("descendant", "T")], PAST)).join()).toMatch(/states_by_history \(memory=\?/);
  });
});

describe("a run from contexts", () => {
  const contexts = (...weights: readonly number[]) =>
    weights.map((weight, at) => ({ id: `nod_a${at}`, pathKey: `a${at}`, weight }));

  test("contexts of one weight, or of many, are joined with index ranges", async () => {
    for (const some of [contexts(1, 1), contexts(1, 0.5)]) {
      for (const axis of ["child", "descendant"] as const) {
        const plan = await planOf(
          runStatement({ contexts: some, steps: [step(axis, "B")], values: false }, 1, HEAD, EQUAL_COUNTS),
        );
        expect({ scans: scansOf(plan), sorts: sortsOf(plan) }).toEqual({ scans: [], sorts: [] });
      }
    }
  });

  test("the statement depends on the shape of a run, not on its values or on how many contexts there are", () => {
    const sqlOf = (count: number, type: string, at: number): string =>
      runStatement(
        {
          contexts: contexts(...Array.from({ length: count }, () => 1)),
          steps: [step("child", type, index(at))],
          values: false,
        },
        1,
        HEAD,
        EQUAL_COUNTS,
      ).sql;
    expect(sqlOf(2, "A", 3)).toBe(sqlOf(50, "B", 7));
    expect(sqlOf(1, "O'Hara\"; DROP TABLE states", 3)).toBe(sqlOf(1, "A", 3));
  });

  test("evidence of several paths is one statement over index ranges", async () => {
    const paths = [
      { steps: [step("child", "A"), step("descendant", "B", index(2))], keep: [true, true] },
      { steps: [step("descendant", undefined, undefined, [comparison("open", "=", "true")])], keep: [true] },
    ];
    const plan = await planOf(evidenceStatement({ contexts: contexts(1, 1), paths, values: true }, 1, HEAD));
    expect(scansOf(plan)).toEqual([]);
  });

  test.each([
    ["/A[1]", step("child", "A", index(1))],
    ["//A[-2]", step("descendant", "A", index(-2))],
    ["/*[2:4]", step("child", undefined, range(2, 4))],
    ["//*[-3:]", step("descendant", undefined, range(-3))],
  ])("evidence by %s takes each context's nodes in the order of their index, and stops", async (_, one) => {
    for (const liveness of [HEAD, PAST]) {
      const request = { contexts: contexts(1, 1), paths: [{ steps: [one], keep: [true] }], values: true };
      const plan = await planOf(evidenceStatement(request, 1, liveness));
      expect({ scans: scansOf(plan), sorts: sortsOf(plan) }).toEqual({ scans: [], sorts: [] });
      expect(plan.join()).toMatch(/CORRELATED (LIST|SCALAR) SUBQUERY/);
    }
  });
});

describe("a filter", () => {
  const filters: readonly NodeFilter[] = [
    { type: "T", scope: { kind: "descendants", of: [""] } },
    { scope: { kind: "descendants", of: ["a0", "a1"] } },
    { type: "T", scope: { kind: "children", of: ["nod_a0", null] } },
    { scope: { kind: "children", of: [null] } },
  ];
  test("reads index ranges", async () => {
    for (const liveness of [HEAD, PAST]) {
      for (const filter of filters) {
        const { sql, parameters } = filterSelect(filter, 1, liveness);
        expect(scansOf(await planOf({ sql, parameters }))).toEqual([]);
      }
    }
  });
});
