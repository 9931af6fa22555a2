import { describeStores } from "../contract/all-stores.contract.js";
import { inMemoryStores } from "./in-memory-stores.js";

describeStores("in memory", async (cacheLimits) => inMemoryStores(cacheLimits));
