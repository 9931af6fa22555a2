import type { Config } from "#core";
import { Collections } from "./qdrant/collections.js";
import { QdrantConnection } from "./qdrant/connection.js";
import { readDimension } from "./sqlite/read-dimension.js";

/**
 * Numbers in the vectors that are stored under a model's id, by the configuration's own stores; undefined if there are none.
 * Changes nothing.
 * @throws EspalierError `store_unavailable`, `store_refused`; Error of SQLite if the file is no database
 */
export async function storedDimension(
  { distributed, dataFolder }: Pick<Config, "distributed" | "dataFolder">,
  model: string,
): Promise<number | undefined> {
  if (distributed === undefined) return readDimension(dataFolder, model);
  const { url, apiKey } = distributed.qdrant;
  const connection = new QdrantConnection({ url, ...(apiKey !== undefined && { apiKey }) });
  try {
    return await new Collections(connection, { url }).dimensionOf(model);
  } finally {
    connection.close();
  }
}
