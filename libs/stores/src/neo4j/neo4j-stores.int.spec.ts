/** The contract of a TreeStore on Neo4j. */
import { jest } from "@jest/globals";
import { describeWithNeo4j, emptyNeo4j } from "../../../../test/support/neo4j.js";
import type { OpenEmpty } from "../contract/fixtures.js";
import { describeTreeStore } from "../contract/tree-store.contract.js";
import { Database } from "./database.js";
import { migrate } from "./migrate.js";
import { treeOverCountedPoints } from "./testing/tree-over-counted-points.js";

/** A fresh server plans each statement once, on a machine that other tests keep busy. */
jest.setTimeout(120_000);

await describeWithNeo4j("neo4j", (url) => {
  const open: OpenEmpty = async () => {
    await emptyNeo4j(url);
    const database = new Database({ url });
    await migrate(database);
    return treeOverCountedPoints(database);
  };
  describeTreeStore("neo4j", open);
});
