import type { StateRef } from "#scoring";
import { unitVector } from "../engine/hashed-model.js";
import { BENCH_MODEL, type GrownTree } from "./grow-tree.js";
import type { SearchStores } from "./store-engine.js";

const PAGE = 2_000;
/** Points of which scores are asked for by name. */
const NAMED = 1_000;

/** The vectors of a memory's items, and how fast they were stored. */
export interface GrownPoints {
  /** One after the other, in the order of the items. */
  readonly vectors: Float32Array;
  /** Some of the items, from all over the memory. */
  readonly named: readonly StateRef[];
  readonly pointsPerSecond: number;
  /** Whether the indexes hold them all. */
  readonly settled: boolean;
}

/** Stores a synthetic vector for each item of a memory, page by page; the vectors are made outside the time that is taken. */
export async function growPoints(stores: SearchStores, tree: GrownTree): Promise<GrownPoints> {
  const { id: model, dimension } = BENCH_MODEL;
  const { scope, items } = tree;
  const all = new Float32Array(items.length * dimension);
  let milliseconds = 0;
  for (let from = 0; from < items.length; from += PAGE) {
    const points = items.slice(from, from + PAGE).map(({ id, born }, index) => {
      const vector = unitVector(`item ${from + index}`, dimension);
      all.set(vector, (from + index) * dimension);
      return { id, born, field: "", model, embedding: { vector, windowed: false } };
    });
    const started = performance.now();
    await stores.vectors.upsert(scope, points);
    milliseconds += performance.now() - started;
  }
  const every = Math.max(1, Math.floor(items.length / NAMED));
  return {
    vectors: all,
    named: items.filter((_, index) => index % every === 0).slice(0, NAMED),
    pointsPerSecond: Math.round(items.length / (milliseconds / 1_000)),
    settled: await stores.settled(),
  };
}
