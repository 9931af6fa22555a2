import type { MemoryScope } from "#core";
import type { Collections } from "./collections.js";
import type { QdrantConnection } from "./connection.js";
import { isNotFound } from "./errors.js";
import { ofMemory } from "./filter-conditions.js";

/** Removes a memory's points from those of our collections that `isMeant`. Answers the count. */
export async function deleteMemoryPoints(
  { connection, collections }: { readonly connection: QdrantConnection; readonly collections: Collections },
  scope: MemoryScope,
  isMeant: (collection: string) => boolean,
): Promise<number> {
  const names = (await collections.names()).filter(isMeant);
  let deleted = 0;
  for (const name of names) deleted += await deleteFrom(connection, name, scope);
  return deleted;
}

async function deleteFrom(connection: QdrantConnection, name: string, scope: MemoryScope): Promise<number> {
  const filter = { must: ofMemory(scope) };
  try {
    const { count } = await connection.send("counting points", (client) => client.count(name, { filter, exact: true }));
    if (count > 0) {
      await connection.send("removing points", (client) => client.delete(name, { filter, wait: true }));
    }
    return count;
  } catch (error) {
    // Another process removed the whole collection meanwhile.
    if (isNotFound(error)) return 0;
    throw error;
  }
}
