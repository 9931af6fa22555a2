import type { StateRef } from "#scoring";
import { unitVector } from "../engine/hashed-model.js";
import { millisecondsOf } from "../metrics/milliseconds-of.js";
import type { Times } from "./copy-by-hand.js";
import { BENCH_MODEL, type GrownTree } from "./grow-tree.js";
import type { SearchStores } from "./store-engine.js";

const PAGE = 2_000;
/** Points of which scores are asked for by name. */
const NAMED = 1_000;

/** The vectors of a memory's items, and how long it took to store them. */
export interface GrownPoints {
  /** One after the other, in the order of the items. */
  readonly vectors: Float32Array;
  /** Some of the items, from all over the memory. */
  readonly named: readonly StateRef[];
  readonly times: Times;
}

/**
 * Stores a synthetic vector for each item of a memory, page by page, and each page again by hand; the vectors are made outside
 * the time that is taken.
 */
export async function growPoints(stores: SearchStores, tree: GrownTree): Promise<GrownPoints> {
  const { id: model, dimension } = BENCH_MODEL;
  const { scope, items, copy } = tree;
  const all = new Float32Array(items.length * dimension);
  let [own, byHand] = [0, 0];
  for (let from = 0; from < items.length; from += PAGE) {
    const points = items.slice(from, from + PAGE).map(({ id, born }, index) => {
      const vector = unitVector(`item ${from + index}`, dimension);
      all.set(vector, (from + index) * dimension);
      return { id, born, field: "", model, embedding: { vector, windowed: false } };
    });
    own += await millisecondsOf(() => stores.vectors.upsert(scope, points));
    byHand += await copy.writePoints(items.slice(from, from + PAGE));
  }
  const every = Math.max(1, Math.floor(items.length / NAMED));
  return {
    vectors: all,
    named: items.filter((_, index) => index % every === 0).slice(0, NAMED),
    times: { own, byHand },
  };
}
