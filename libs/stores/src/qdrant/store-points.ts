import type { Schemas } from "@qdrant/js-client-rest";
import { LIMITS, type MemoryScope } from "#core";
import { type Embedding, termWeights } from "#scoring";
import type { PointSource } from "../distributed/point-ledger.js";
import { type Collection, DENSE, TERMS } from "./collections.js";
import type { QdrantConnection } from "./connection.js";
import { payloadOf, pointId } from "./points.js";
import { sparseDocument } from "./sparse-terms.js";

/** A point with everything that it is made of. */
export interface PointToStore {
  readonly source: PointSource;
  readonly embedding: Embedding;
}

type Point = Schemas["PointStruct"];

/**
 * The largest number of a vector as it is told, and the others in proportion, all whole: a cosine knows no length, and moves by
 * less than 1e-8. A fraction takes four times as long to be written as a whole number that fits 31 bits.
 */
const LARGEST = 1e9;

/** Bytes of a number of a vector, of a term with its weight and of the rest, as JSON. */
const NUMBER_BYTES = 13;
const TERM_BYTES = 32;
const POINT_BYTES = 512;

/**
 * What a point that is there must be to be replaced: an end is final. A request that comes late (its sender gave it up, and
 * another one did its work) would else bring an ended state back to life, with nobody to notice.
 */
const LIVING = { must: [{ key: "head", match: { value: true } }] };

/** Stores points, or replaces living ones, in batches that are bounded in bytes; each is searchable when its request ends. */
export async function storePoints(
  connection: QdrantConnection,
  { name }: Collection,
  scope: MemoryScope,
  points: readonly PointToStore[],
): Promise<void> {
  for (const batch of batches(scope, points)) {
    await connection.send("storing points", (client) =>
      client.upsert(name, { points: batch, update_filter: LIVING, wait: true }),
    );
  }
}

function* batches(scope: MemoryScope, points: readonly PointToStore[]): Generator<Point[]> {
  let batch: Point[] = [];
  let bytes = 0;
  for (const { source, embedding } of points) {
    const terms = sparseDocument(termWeights(source.text));
    const size =
      POINT_BYTES + source.pathKey.length + embedding.vector.length * NUMBER_BYTES + terms.indices.length * TERM_BYTES;
    if (batch.length > 0 && (bytes + size > LIMITS.storeBatchBytes || batch.length === LIMITS.storePoints)) {
      yield batch;
      batch = [];
      bytes = 0;
    }
    batch.push({
      id: pointId(scope, source.field, source),
      // A text without a term has no terms: Qdrant leaves the point out of their searches.
      vector: { [DENSE]: inWholeNumbers(embedding.vector), ...(terms.indices.length > 0 && { [TERMS]: terms }) },
      payload: { ...payloadOf(scope, source) },
    });
    bytes += size;
  }
  if (batch.length > 0) yield batch;
}

/** Both loops are plain: `Array.from` and the methods of typed arrays take three to fifteen times as long. */
function inWholeNumbers(vector: Float32Array): number[] {
  let largest = 0;
  for (const value of vector) largest = Math.max(largest, Math.abs(value));
  const factor = largest === 0 ? 0 : LARGEST / largest;
  const numbers: number[] = [];
  for (const value of vector) numbers.push(Math.round(value * factor));
  return numbers;
}
