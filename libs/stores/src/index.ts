export { type ApartStores, inMemoryApartStores } from "./in-memory/apart-stores.js";
export { inMemoryStores } from "./in-memory/in-memory-stores.js";
export { openNeo4jTree } from "./neo4j/open-tree.js";
export { inspectDatabase, type DatabaseInspection } from "./sqlite/inspect-database.js";
export { openDistributedStores, type DistributedStoresOptions } from "./distributed/open-distributed-stores.js";
export { openStoresOf } from "./open-stores-of.js";
export { openStores, type OpenStoresOptions } from "./sqlite/open-stores.js";
export type { CacheLimits, Stores } from "./stores.js";
