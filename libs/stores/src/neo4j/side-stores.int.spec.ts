/** The contract of keys and blobs on Neo4j. What the suite wants of the other stores is answered by those in memory. */
import { describeWithNeo4j, emptyNeo4j } from "../../../../test/support/neo4j.js";
import { describeSideStores } from "../contract/side-stores.contract.js";
import { inMemoryStores } from "../in-memory/in-memory-stores.js";
import { Neo4jBlobStore } from "./blob-store.js";
import { Database } from "./database.js";
import { Neo4jKeyStore } from "./key-store.js";
import { migrate } from "./migrate.js";

await describeWithNeo4j("Neo4j", (url) => {
  describeSideStores("Neo4j", async (cacheLimits) => {
    await emptyNeo4j(url);
    const database = new Database({ url });
    await migrate(database);
    const others = inMemoryStores(cacheLimits);
    return {
      ...others,
      blobs: new Neo4jBlobStore(database),
      keys: new Neo4jKeyStore(database),
      close: async () => {
        await others.close();
        await database.close();
      },
    };
  });
});
