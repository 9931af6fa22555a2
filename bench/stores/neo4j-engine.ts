import neo4j, { type Driver } from "neo4j-driver";
import type { MemoryScope } from "#core";
import { openNeo4jTree } from "#stores";
import { openServers } from "../engine/open-stores.js";
import { Neo4jCopy } from "./neo4j-copy.js";
import { QdrantByHand } from "./qdrant-by-hand.js";
import { dropCopies, QdrantCopy } from "./qdrant-copy.js";
import type { StoreEngine } from "./store-engine.js";

/**
 * The Neo4j of `NEO4J_URI`, with the Qdrant of `QDRANT_URL` if one is named; `undefined` without a Neo4j. Memories are
 * removed by who makes them.
 */
export async function openNeo4jEngine(): Promise<StoreEngine | undefined> {
  const { NEO4J_URI: url, NEO4J_USERNAME: user = "neo4j", NEO4J_PASSWORD: password } = process.env;
  if (url === undefined) return undefined;
  const auth = password === undefined ? undefined : neo4j.auth.basic(user, password);
  // eslint-disable-next-line @typescript-eslint/no-unsafe-class-instance-assignment -- options of the driver are plain objects
  const driver = neo4j.driver(url, auth, { disableLosslessIntegers: true, fetchSize: 5_000 });
  // eslint-disable-next-line @typescript-eslint/no-unsafe-class-instance-assignment -- as above
  const exact = neo4j.driver(url, auth, { fetchSize: 5_000 });
  const opened = await (process.env["QDRANT_URL"] === undefined ? openTrees(url, user, password) : openBoth(driver));
  const { tree, beginPoints } = opened;
  return {
    ...opened,
    beginCopy: async (scope) => {
      const [nodes, points] = [new Neo4jCopy(exact, tree, scope), beginPoints?.(scope)];
      return {
        writeChange: (revision) => nodes.writeChange(revision),
        writePoints: async (items) => ((await points?.write(items)) ?? 0) + (await nodes.writePoints(items)),
        check: async () => {
          await nodes.check();
          await points?.check();
        },
        remove: async () => {
          await nodes.remove();
          await points?.remove();
        },
      };
    },
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
      await Promise.all([driver.close(), exact.close()]);
      await opened.close();
    },
  };
}

type OpenedEngine = Omit<StoreEngine, "raw" | "beginCopy"> & {
  /** Absent: the engine has trees alone. */
  readonly beginPoints?: (scope: MemoryScope) => QdrantCopy;
};

async function openTrees(url: string, user: string, password: string | undefined): Promise<OpenedEngine> {
  return { name: "Neo4j", ...(await openNeo4jTree({ url, ...(password !== undefined && { user, password }) })) };
}

async function openBoth(driver: Driver): Promise<OpenedEngine> {
  const { stores, prefix, remove } = await openServers();
  const { tree, vectors, lexical } = stores;
  const byHand = new QdrantByHand(prefix, driver);
  return {
    name: "Neo4j + Qdrant",
    tree,
    search: {
      ...{ vectors, lexical, settled: () => byHand.settled() },
      byHand: (grown, points) => byHand.search(grown, points),
    },
    beginPoints: (scope) => new QdrantCopy(prefix, scope),
    close: async () => {
      await byHand.drop();
      await dropCopies(prefix);
      await stores.close();
      await remove();
    },
  };
}
