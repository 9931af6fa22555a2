/** The contract of keys, blobs and tenants on Neo4j. What the suite wants of the other stores is answered by those in memory. */
import { describeWithNeo4j, emptyNeo4j } from "../../../../test/support/neo4j.js";
import type { OpenEmpty } from "../contract/fixtures.js";
import { describeSideStores } from "../contract/side-stores.contract.js";
import { describeTenantStore } from "../contract/tenant-store.contract.js";
import { inMemoryStores } from "../in-memory/in-memory-stores.js";
import { Neo4jBlobStore } from "./blob-store.js";
import { Database } from "./database.js";
import { Neo4jKeyStore } from "./key-store.js";
import { migrate } from "./migrate.js";
import { Neo4jTenantStore } from "./tenant-store.js";

await describeWithNeo4j("Neo4j", (url) => {
  const open: OpenEmpty = async (cacheLimits) => {
    await emptyNeo4j(url);
    const database = new Database({ url });
    await migrate(database);
    const others = inMemoryStores(cacheLimits);
    return {
      ...others,
      blobs: new Neo4jBlobStore(database),
      keys: new Neo4jKeyStore(database),
      tenants: new Neo4jTenantStore(database),
      close: async () => {
        await others.close();
        await database.close();
      },
    };
  };
  describeSideStores("Neo4j", open);
  describeTenantStore("Neo4j", open);
});
