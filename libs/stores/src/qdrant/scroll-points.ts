import { LIMITS, type MemoryScope } from "#core";
import type { StoredPoint } from "#memory";
import type { QdrantConnection } from "./connection.js";
import { ofMemory } from "./filter-conditions.js";
import { POINT_FIELDS, storedPoint } from "./points.js";

/** A page of a memory's points, by point id. */
export async function pageOfPoints(
  connection: QdrantConnection,
  collection: string,
  scope: MemoryScope,
  { after, limit }: { readonly after?: string; readonly limit: number },
): Promise<{ readonly points: readonly StoredPoint[]; readonly next?: string }> {
  const { points, next_page_offset: next } = await connection.send("reading points", (client) =>
    client.scroll(collection, {
      filter: { must: ofMemory(scope) },
      limit,
      ...(after !== undefined && { offset: after }),
      with_payload: POINT_FIELDS,
      with_vector: false,
    }),
  );
  return { points: points.map(storedPoint), ...(typeof next === "string" && { next }) };
}

/** All points of a memory, page by page: no more than one is held. */
export async function* pagesOfPoints(
  connection: QdrantConnection,
  collection: string,
  scope: MemoryScope,
): AsyncGenerator<readonly StoredPoint[]> {
  let after: string | undefined;
  do {
    const page = await pageOfPoints(connection, collection, scope, {
      limit: LIMITS.storePoints,
      ...(after !== undefined && { after }),
    });
    yield page.points;
    after = page.next;
  } while (after !== undefined);
}
