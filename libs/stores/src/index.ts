export { openStores, type OpenStoresOptions } from "./sqlite/open-stores.js";
export type { Stores } from "./stores.js";
