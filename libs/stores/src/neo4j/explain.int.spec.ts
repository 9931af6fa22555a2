/** How Neo4j reads what the statements ask of it: always ranges of an index. */
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import neo4j, { type Driver } from "neo4j-driver";
import { describeWithNeo4j } from "../../../../test/support/neo4j.js";
import { Database } from "./database.js";
import { migrate } from "./migrate.js";
import { planOf, writeYoung } from "./testing/plan-of.js";
import { structureShapes } from "./testing/structure-shapes.js";

await describeWithNeo4j("plans in Neo4j", (url) => {
  let driver: Driver;
  let young: Awaited<ReturnType<typeof writeYoung>>;
  beforeAll(async () => {
    const database = new Database({ url });
    await migrate(database);
    await database.close();
    driver = neo4j.driver(url);
    young = await writeYoung(driver);
  });
  afterAll(async () => {
    await young.remove();
    await driver.close();
  });

  const shapes = structureShapes();

  test("every step of a run or of evidence is one search of an index over its states, beside that for the memory", async () => {
    for (const [name, statement] of shapes) {
      const { refused, indexes } = await planOf(driver, statement);
      const asked = [...statement.text.matchAll(/USING INDEX SEEK n\d+:(Node\([^)]*\))/g)].map(([, index]) => index);
      const expected = ["Memory(key)", ...asked].sort();
      expect({ name, refused, indexes: [...indexes].sort() }).toEqual({ name, refused: [], indexes: expected });
    }
  }, 120_000);

  test("types from the root, and the ends of their order, are read in the index's order", async () => {
    const sorted = ["//T", "//*", "/A", "/*", "//T[3]", "//T[-1]", "//T[2:5]", "//T[-3:]", "//T[2:]", "//T, limit"];
    for (const [name, statement] of shapes.filter(([shape]) => sorted.some((one) => shape === `run ${one} (head)`))) {
      const { operators } = await planOf(driver, statement);
      const sorts = operators.filter((operator) => /Sort|Top/.test(operator));
      expect({ name, sorts }).toEqual({ name, sorts: [] });
    }
  });

  test("a statement that reads by no index is found out", async () => {
    const scans = [
      "MATCH (n) RETURN n.id",
      "MATCH (n:Node) RETURN n.id",
      "MATCH (a:Node), (b:Memory) RETURN a.id, b.id",
    ];
    for (const text of [...scans, "MATCH (a:Node)-[:CHILD*]->(b) WHERE a.live = '' AND a.pathKey > '' RETURN b.id"]) {
      expect((await planOf(driver, { text, parameters: {} })).refused).not.toEqual([]);
    }
  });
});
