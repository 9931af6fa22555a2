import { LIMITS, type DistributedConfig } from "#core";
import { Neo4jBlobStore } from "../neo4j/blob-store.js";
import { Neo4jKeyStore } from "../neo4j/key-store.js";
import { Neo4jOutbox } from "../neo4j/outbox.js";
import { Neo4jPointLedger } from "../neo4j/point-ledger.js";
import { Neo4jTenantStore } from "../neo4j/tenant-store.js";
import { openQdrant } from "../qdrant/open-qdrant.js";
import { RedisCacheStore } from "../redis/cache-store.js";
import type { CacheLimits, Stores } from "../stores.js";
import { DistributedTreeStore } from "./distributed-tree-store.js";
import { MigratedDatabase } from "./migrated-database.js";

export interface DistributedStoresOptions extends DistributedConfig {
  /** Where the persistent caches are kept. */
  readonly redis: string;
  /** Default `espalier`. Two deployments on the same servers differ by it. */
  readonly prefix?: string;
  /** Rows of one tenant's caches. */
  readonly cacheLimits?: CacheLimits;
}

const CACHE_LIMITS: CacheLimits = {
  embeddings: LIMITS.tenantCachedEmbeddings,
  entailments: LIMITS.tenantCachedEntailments,
};

/**
 * Opens the stores of many machines: trees in Neo4j, points in Qdrant, caches in Redis. Returns at once; servers that are
 * away answer `store_unavailable` until they are there, and the first use brings the database's schema up to date.
 */
export function openDistributedStores(options: DistributedStoresOptions): Stores {
  const { neo4j, qdrant: server, redis, prefix } = options;
  const { uri: url, username: user, password, database: name } = neo4j;
  const database = new MigratedDatabase({
    url,
    ...(password !== undefined && { user, password }),
    ...(name !== undefined && { database: name }),
  });
  const { quantization, ...reached } = server;
  const outbox = new Neo4jOutbox(database);
  const qdrant = openQdrant(
    {
      ...reached,
      quantization: quantization === "scalar" ? "int8" : "none",
      ...(prefix !== undefined && { collectionPrefix: prefix }),
    },
    new Neo4jPointLedger(database),
  );
  const caches = new RedisCacheStore({
    ...{ address: redis, limits: options.cacheLimits ?? CACHE_LIMITS },
    ...(prefix !== undefined && { prefix }),
  });
  return {
    tree: new DistributedTreeStore(database, qdrant),
    ...{ vectors: qdrant.vectors, lexical: qdrant.lexical, caches },
    ...{ blobs: new Neo4jBlobStore(database), keys: new Neo4jKeyStore(database) },
    tenants: new Neo4jTenantStore(database),
    apart: { outbox, points: qdrant.points },
    ping: async () => {
      await Promise.all([database.ping(), qdrant.ping()]);
    },
    close: async () => {
      caches.close();
      qdrant.close();
      await database.close();
    },
  };
}
