/** What Neo4j decides about a value is what the language says, for any value, operator and literal. */
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import fc from "fast-check";
import neo4j, { type Driver } from "neo4j-driver";
import type { Attributes, AttributeValue } from "#core";
import { type Comparison, type ComparisonOperator, holds } from "#query";
import { describeWithNeo4j } from "../../../../test/support/neo4j.js";
import { holdsFor } from "../contract/seed.js";
import { comparisonCondition } from "./comparison-condition.js";
import { nodeProperties } from "./node-properties.js";
import { Parameters } from "./parameters.js";

const OPERATORS: readonly ComparisonOperator[] = ["=", "!=", "<", "<=", ">", ">="];
const NAMES = ["cost", "a-b.c", "naïve_名", "node`) DETACH DELETE (n", "$p0", "'\"", "x".repeat(128)];

const decimals = fc.constantFrom(
  "3",
  "03",
  "-0",
  "0",
  "2.50",
  "2.5",
  "1e3",
  "1E-2",
  "1e999",
  "+1",
  " 3",
  "0x10",
  "1000",
);
const instants = fc.oneof(
  fc.constantFrom("2026-05-01", "2026-05-01T00:00:00Z", "2026-05-01T02:00:00+02:00", "2026-05-01t00:00:00.000z"),
  fc.constantFrom(
    "2026-02-30",
    "2026-06-30T23:59:60Z",
    "2026-07-01",
    "0000-01-01T00:00:00+23:59",
    "9999-12-31T23:59:60-23:59",
  ),
  fc.constantFrom("2026-05-01T00:00:00.5", "2026-05-01T00:00:00.50Z", "2026-05-01T00:00:00.4999999999999999999"),
  fc
    .date({ noInvalidDate: true, min: new Date("2026-04-30"), max: new Date("2026-05-02") })
    .map((date) => date.toISOString()),
);
/** Texts around the places where orders by units, code points and bytes differ. */
const edges = fc.string({
  unit: fc.constantFrom(
    "a",
    "b",
    "é",
    "e\u0301",
    "\ud7fe",
    "\ud7ff",
    "\ue000",
    "\uff0c",
    "\uffff",
    "\u{10000}",
    "😀",
    "\u{10ffff}",
  ),
  maxLength: 3,
});
const texts = fc.oneof(
  decimals,
  instants,
  edges,
  fc.constantFrom("", "true", "false", "text:a", "number:3", "instant:2026", "a", "b"),
  fc.string({ unit: "grapheme", maxLength: 4 }).filter((text) => !text.includes("\0") && text.isWellFormed()),
);
const numbers = fc.oneof(
  fc.constantFrom(0, -0, 3, 2.5, 1000, 1e21, 5e-324, Number.MAX_SAFE_INTEGER, Number.MAX_VALUE, 0.1 + 0.2, 0.3),
  fc.integer({ min: -3, max: 3 }),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
);
const values: fc.Arbitrary<AttributeValue> = fc.oneof(texts, numbers, fc.boolean(), fc.array(texts, { maxLength: 3 }));
const literals = fc.oneof(texts, numbers);

interface Case {
  readonly node: { readonly attributes: Attributes; readonly metadata: Attributes };
  readonly literal: string | number;
}

/** Values and literals are picked from one small pool too, so that they are often equal or near. */
const cases: fc.Arbitrary<readonly Case[]> = fc.array(
  fc
    .tuple(values, fc.option(values), literals, fc.constantFrom("attribute", "metadata", "both", "none", "same"))
    .map(([value, other, literal, where]): Case => ({
      node: {
        attributes: where === "attribute" || where === "both" || where === "same" ? { cost: value } : {},
        metadata: where === "metadata" ? { cost: value } : where === "both" ? { cost: other ?? 1 } : {},
      },
      literal: where === "same" && (typeof value === "string" || typeof value === "number") ? value : literal,
    })),
  { minLength: 1, maxLength: 400, size: "max" },
);

await describeWithNeo4j("comparisons in Neo4j", (uri) => {
  let driver: Driver;
  beforeAll(() => {
    driver = neo4j.driver(uri);
  });
  afterAll(() => driver.close());

  const read = async (text: string, parameters: Readonly<Record<string, unknown>>) =>
    (await driver.executeQuery(text, parameters)).records.map((record) => record.toObject());

  /** One statement for many values: the condition's parameters come from the row. */
  async function decide(rows: readonly Case[], operator: ComparisonOperator): Promise<ReadonlyMap<Case, boolean>> {
    const byText = new Map<string, { readonly row: Case; readonly parameters: Parameters["values"] }[]>();
    for (const row of rows) {
      const parameters = new Parameters({});
      const text = comparisonCondition(comparisonOf(row, operator), "n", parameters);
      byText.set(text, [...(byText.get(text) ?? []), { row, parameters: parameters.values }]);
    }
    const decided = new Map<Case, boolean>();
    for (const [text, group] of byText) {
      const given = group.map(({ row, parameters }) => ({ n: nodeProperties(row.node), p: parameters }));
      const condition = text.replaceAll("$", "row.p.");
      const answers = await read(
        `UNWIND $given AS row WITH row, row.n AS n RETURN coalesce(${condition}, false) AS holds`,
        { given },
      );
      group.forEach(({ row }, index) => decided.set(row, answers[index]?.["holds"] as boolean));
    }
    return decided;
  }

  test("are what the language says, for thousands of values and literals", async () => {
    await holdsFor(8, cases, async (rows) => {
      for (const operator of OPERATORS) {
        const decided = await decide(rows, operator);
        const wrong = rows.filter((row) => decided.get(row) !== holds(comparisonOf(row, operator), row.node));
        expect({ operator, wrong }).toEqual({ operator, wrong: [] });
      }
    });
  });

  test("of stored values are the same, whatever the names are", async () => {
    for (const name of NAMES) {
      const attributes = { [name]: "😀", other: ["a"], type: "mine", memory: 3, [`value:${name}`]: "x" };
      await read("CREATE (n:Compared {type: 'T', memory: 'm'}) SET n += $values", {
        values: nodeProperties({ attributes, metadata: { [name]: "not read" } }),
      });
      const found = async (comparison: Comparison): Promise<unknown> => {
        const parameters = new Parameters({});
        const condition = comparisonCondition(comparison, "n", parameters);
        const rows = await read(
          `MATCH (n:Compared) WHERE ${condition} RETURN n.type AS type, n.memory AS memory`,
          parameters.values,
        );
        return rows;
      };
      const own = [{ type: "T", memory: "m" }];
      expect(await found({ kind: "comparison", name, operator: "=", value: "😀" })).toEqual(own);
      expect(await found({ kind: "comparison", name, operator: ">", value: "\uffff" })).toEqual(own);
      expect(await found({ kind: "comparison", name, operator: "!=", value: "😀" })).toEqual([]);
      expect(await found({ kind: "comparison", name: "type", operator: "=", value: "mine" })).toEqual(own);
      expect(await found({ kind: "comparison", name: "other", operator: "!=", value: "a" })).toEqual([]);
      await read("MATCH (n:Compared) DELETE n", {});
    }
  });
});

function comparisonOf({ literal }: Case, operator: ComparisonOperator): Comparison {
  return { kind: "comparison", name: "cost", operator, value: literal };
}
