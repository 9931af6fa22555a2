import neo4j from "neo4j-driver";
import { openNeo4jTree } from "#stores";
import type { TreeEngine } from "./tree-engine.js";

/** The Neo4j of `NEO4J_URI`; `undefined` if none is named. Memories are removed by who makes them. */
export async function openNeo4jEngine(): Promise<TreeEngine | undefined> {
  const { NEO4J_URI: url, NEO4J_USERNAME: user = "neo4j", NEO4J_PASSWORD: password } = process.env;
  if (url === undefined) return undefined;
  const opened = await openNeo4jTree({ url, ...(password !== undefined && { user, password }) });
  const auth = password === undefined ? undefined : neo4j.auth.basic(user, password);
  // eslint-disable-next-line @typescript-eslint/no-unsafe-class-instance-assignment -- options of the driver are plain objects
  const driver = neo4j.driver(url, auth, { disableLosslessIntegers: true, fetchSize: 5_000 });
  return {
    name: "Neo4j",
    tree: opened.tree,
    raw: async ({ tenant, memory }, { cypher, parameters = {} }) => {
      const given = { memory: `${tenant}/${memory}`, ...parameters };
      const session = driver.session();
      try {
        return await session.executeRead(async (transaction) => (await transaction.run(cypher, given)).records.length);
      } finally {
        await session.close();
      }
    },
    close: async () => {
      await driver.close();
      await opened.close();
    },
  };
}
