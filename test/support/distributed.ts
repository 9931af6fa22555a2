import { afterAll, beforeAll, describe } from "@jest/globals";
import { QdrantClient } from "@qdrant/js-client-rest";
import { randomId } from "#core";
import { openDistributedStores, type CacheLimits, type DistributedStoresOptions, type Stores } from "#stores";
import { emptyNeo4j, neo4jServer } from "./neo4j.js";
import { qdrantServer } from "./qdrant.js";
import { startRedis, type TestRedis } from "./redis.js";

/** Servers of the distributed profile, for one test file. */
export interface DistributedServers {
  /** Where they are, with a prefix that nothing else has. */
  options(): DistributedStoresOptions;
  /** Fresh, empty stores. */
  open(cacheLimits?: CacheLimits): Promise<Stores>;
}

/**
 * A suite over a real Neo4j, a Qdrant and a real Redis. Where one of them cannot run, its tests are skipped by name. Called
 * with `await` at the top of a file.
 */
export async function describeDistributed(name: string, suite: (servers: DistributedServers) => void): Promise<void> {
  const neo4j = await neo4jServer();
  const qdrant = await qdrantServer();
  const { uri, url } = { uri: "bolt://not-there", url: "http://not-there", ...neo4j, ...qdrant };
  const runs = !("skipped" in neo4j) && !("skipped" in qdrant);
  (runs ? describe : describe.skip)(name, () => {
    let redis: TestRedis;
    const prefixes: string[] = [];
    beforeAll(async () => {
      redis = await startRedis();
      await emptyNeo4j(uri);
    });
    afterAll(async () => {
      await redis.close();
      await dropCollections(url, prefixes);
    });
    const options = (): DistributedStoresOptions => {
      const prefix = `test-${randomId("key").slice(-12)}`;
      prefixes.push(prefix);
      const neo4jOptions = { uri, username: "neo4j" };
      return { neo4j: neo4jOptions, qdrant: { url, quantization: "none" }, redis: redis.address, prefix };
    };
    suite({
      options,
      open: async (cacheLimits) => {
        await emptyNeo4j(uri);
        return openDistributedStores({ ...options(), ...(cacheLimits !== undefined && { cacheLimits }) });
      },
    });
  });
}

async function dropCollections(url: string, prefixes: readonly string[]): Promise<void> {
  const client = new QdrantClient({ url, checkCompatibility: false });
  const { collections } = await client.getCollections();
  for (const { name } of collections) {
    if (prefixes.some((prefix) => name.startsWith(`${prefix}-`))) await client.deleteCollection(name);
  }
}
