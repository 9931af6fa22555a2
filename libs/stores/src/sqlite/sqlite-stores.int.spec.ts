import { describeStores } from "../contract/all-stores.contract.js";
import { describeInboxAge } from "../contract/inbox-age.contract.js";
import { describeSharedCacheBound } from "../contract/side-stores.contract.js";
import { openStores } from "./open-stores.js";

describeStores("sqlite", async (cacheLimits) =>
  openStores({ folder: ":memory:", ...(cacheLimits !== undefined && { cacheLimits }) }),
);

describeStores("sqlite without images", async (cacheLimits) =>
  openStores({ folder: ":memory:", imageBytes: 0, ...(cacheLimits !== undefined && { cacheLimits }) }),
);

describeSharedCacheBound("sqlite", async (cacheLimits) =>
  openStores({ folder: ":memory:", ...(cacheLimits !== undefined && { cacheLimits }) }),
);

describeInboxAge("sqlite", async () => openStores({ folder: ":memory:" }));
