import { describeAgainstReference } from "../contract/reference.contract.js";
import { openStores } from "./open-stores.js";

describeAgainstReference("sqlite without images", async (cacheLimits) =>
  openStores({ folder: ":memory:", imageBytes: 0, ...(cacheLimits !== undefined && { cacheLimits }) }),
);

describeAgainstReference("sqlite", async (cacheLimits) =>
  openStores({ folder: ":memory:", ...(cacheLimits !== undefined && { cacheLimits }) }),
);
