import pLimit from "p-limit";
import { LIMITS, type MemoryScope } from "#core";
import type { StoredPoint } from "#memory";
import type { StateRef } from "#scoring";
import { type Collection, DENSE, TERMS } from "./collections.js";
import type { QdrantConnection } from "./connection.js";
import { isNotFound } from "./errors.js";
import { named } from "./filter-conditions.js";
import { endOf, POINT_FIELDS, pointId, storedPoint } from "./points.js";
import type { SparseVector } from "./sparse-terms.js";

/** Which points a call is about: those of some states' fields, by name. */
export interface NamedPoints {
  readonly collection: Collection;
  /** Ids in the order of the states. */
  readonly ids: readonly string[];
}

export function namedPoints(
  collection: Collection,
  scope: MemoryScope,
  states: readonly (StateRef & { readonly field: string })[],
): NamedPoints {
  return { collection, ids: states.map((state) => pointId(scope, state.field, state)) };
}

/** Exact scores of named points, in order; NaN where a point is absent or, for terms, has none of them. */
export async function scoresOf(
  connection: QdrantConnection,
  { collection, ids }: NamedPoints,
  query: Float32Array | SparseVector,
): Promise<Float64Array> {
  const [using, vector] = query instanceof Float32Array ? [DENSE, [...query]] : [TERMS, query];
  const scores = new Map<string, number>();
  await inPages(ids, async (page) => {
    const { points } = await connection.send("reading scores", (client) =>
      client.query(collection.name, {
        query: vector,
        using,
        filter: { must: [named(page)] },
        params: { exact: true, ...(collection.quantized && { quantization: { ignore: true } }) },
        limit: page.length,
        with_payload: false,
      }),
    );
    for (const { id, score } of points) scores.set(String(id), score);
  });
  return Float64Array.from(ids, (id) => scores.get(id) ?? Number.NaN);
}

/** Whether each of the named points is there, in order. */
export async function present(
  connection: QdrantConnection,
  { collection, ids }: NamedPoints,
): Promise<readonly boolean[]> {
  const found = new Set<string>();
  await inPages(ids, async (page) => {
    const points = await connection.send("looking for points", (client) =>
      client.retrieve(collection.name, { ids: [...page], with_payload: false, with_vector: false }),
    );
    for (const { id } of points) found.add(String(id));
  });
  return ids.map((id) => found.has(id));
}

/** What each of the named points is of, in order; undefined where it is not there, or its collection is not. */
export async function toldOf(
  connection: QdrantConnection,
  { collection, ids }: NamedPoints,
): Promise<readonly (StoredPoint | undefined)[]> {
  const found = new Map<string, StoredPoint>();
  await inPages(ids, async (page) => {
    const points = await connection
      .send("looking for points", (client) =>
        client.retrieve(collection.name, { ids: [...page], with_payload: POINT_FIELDS, with_vector: false }),
      )
      .catch((error: unknown) => {
        if (isNotFound(error)) return [];
        throw error;
      });
    for (const point of points) found.set(String(point.id), storedPoint(point));
  });
  return ids.map((id) => found.get(id));
}

/** Says of points that their states have ended, or not. Points that are not there stay so. */
export async function writeEnds(
  connection: QdrantConnection,
  collection: Collection,
  scope: MemoryScope,
  points: readonly StoredPoint[],
): Promise<void> {
  const byEnd = Map.groupBy(points, ({ died }) => died);
  for (const [died, ended] of byEnd) {
    await inPages(namedPoints(collection, scope, ended).ids, (page) =>
      // A filter, because naming a point that is not there would be an error.
      connection.send("noting the end of states", (client) =>
        client.setPayload(collection.name, {
          payload: { ...endOf(died) },
          filter: { must: [named(page)] },
          wait: true,
        }),
      ),
    );
  }
}

export async function removePoints(
  connection: QdrantConnection,
  { collection, ids }: { readonly collection: Pick<Collection, "name">; readonly ids: readonly string[] },
): Promise<void> {
  await inPages(ids, (page) =>
    connection.send("removing points", (client) => client.delete(collection.name, { points: [...page], wait: true })),
  );
}

/** A few requests at a time. */
async function inPages(ids: readonly string[], work: (page: readonly string[]) => Promise<unknown>): Promise<void> {
  const limit = pLimit(LIMITS.storeRequestsInFlight);
  await Promise.all(pagesOf(ids).map((page) => limit(() => work(page))));
}

/** What one request is about. */
export function pagesOf<Item>(items: readonly Item[], size: number = LIMITS.storePoints): readonly (readonly Item[])[] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, page) =>
    items.slice(page * size, (page + 1) * size),
  );
}
