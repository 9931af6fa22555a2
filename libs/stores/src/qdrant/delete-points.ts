import { LIMITS, type MemoryScope } from "#core";
import type { Collections } from "./collections.js";
import type { QdrantConnection } from "./connection.js";
import { isNotFound } from "./errors.js";
import { ofMemory } from "./filter-conditions.js";
import { removePoints } from "./named-points.js";

/** Removes a memory's points from those of our collections that `isMeant`. Answers the count. Two requests for a thousand points. */
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
  const page = {
    filter: { must: ofMemory(scope) },
    limit: LIMITS.storePoints,
    with_payload: false,
    with_vector: false,
  };
  let deleted = 0;
  try {
    // By pages: all at once takes longer than a call may, from some hundred thousand points on. Nobody adds any.
    for (;;) {
      const { points } = await connection.send("looking for points", (client) => client.scroll(name, page));
      if (points.length === 0) return deleted;
      await removePoints(connection, { collection: { name }, ids: points.map(({ id }) => String(id)) });
      deleted += points.length;
    }
  } catch (error) {
    // Another process removed the whole collection meanwhile.
    if (isNotFound(error)) return deleted;
    throw error;
  }
}
