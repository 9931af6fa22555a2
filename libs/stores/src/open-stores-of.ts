import { EspalierError, type Clock, type Config } from "#core";
import { openDistributedStores } from "./distributed/open-distributed-stores.js";
import { openStores } from "./sqlite/open-stores.js";
import type { Stores } from "./stores.js";

/** The stores that a configuration asks for: SQLite files in its data folder, or servers. */
export function openStoresOf(
  {
    distributed,
    dataFolder,
    imageBytes,
    redisUrl,
  }: Pick<Config, "distributed" | "dataFolder" | "imageBytes" | "redisUrl">,
  clock: Clock,
): Stores {
  if (distributed === undefined) {
    return openStores({ folder: dataFolder, clock, ...(imageBytes !== undefined && { imageBytes }) });
  }
  if (redisUrl === undefined) throw new EspalierError("internal", "The distributed profile has no Redis.");
  return openDistributedStores({ ...distributed, redis: redisUrl });
}
