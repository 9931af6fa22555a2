import { describeAgainstReference } from "../contract/reference.contract.js";
import { openStores } from "./open-stores.js";

describeAgainstReference("sqlite", async (cacheLimits) =>
  openStores({ folder: ":memory:", ...(cacheLimits !== undefined && { cacheLimits }) }),
);
