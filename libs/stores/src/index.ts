export { inspectDatabase, type DatabaseInspection } from "./sqlite/inspect-database.js";
export { openStores, type OpenStoresOptions } from "./sqlite/open-stores.js";
export type { Stores } from "./stores.js";
