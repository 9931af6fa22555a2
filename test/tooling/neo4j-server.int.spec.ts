import { expect, test } from "@jest/globals";
import neo4j from "neo4j-driver";
import { describeWithNeo4j, neo4jServer } from "../support/neo4j.js";

await describeWithNeo4j("the Neo4j of the tests", (uri) => {
  test("is empty, and the same for every file of a worker", async () => {
    const driver = neo4j.driver(uri);
    const { records } = await driver.executeQuery("MATCH (n) RETURN count(n) = 0 AS isEmpty");
    await driver.close();
    expect(records[0]?.toObject()).toEqual({ isEmpty: true });
    expect(await neo4jServer()).toEqual({ uri });
  });
});
