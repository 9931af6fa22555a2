import { describeStores } from "../contract/all-stores.contract.js";
import { describeInboxAge } from "../contract/inbox-age.contract.js";
import { describeSharedCacheBound } from "../contract/side-stores.contract.js";
import { inMemoryStores } from "./in-memory-stores.js";

describeStores("in memory", async (cacheLimits) => inMemoryStores(cacheLimits));

describeSharedCacheBound("in memory", async (cacheLimits) => inMemoryStores(cacheLimits));

describeInboxAge("in memory", async () => inMemoryStores());
