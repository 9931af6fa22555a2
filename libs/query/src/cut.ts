import { roundRelevance } from "#core";
import { nthLargest } from "./nth-largest.js";

/** How a result is cut; absent bounds do not cut. */
export interface CutOptions {
  readonly topK?: number | undefined;
  /** Rows below it go. */
  readonly minScore?: number | undefined;
  /** Rows below this share of the best score go. */
  readonly minRatio?: number | undefined;
}

/** What is left of a weighted set, best first. */
export interface CutRows {
  /** Places in the set that was cut. */
  readonly places: readonly number[];
  /** Their rounded weights. */
  readonly scores: readonly number[];
  /** Whether `topK` left rows out. */
  readonly more: boolean;
}

/** Binary fractions of a decimal ratio may lie a little above it. */
const TOLERANCE = 1e-9;

/**
 * Weights (in document order) rounded to 1e-6, then sorted by weight descending and document order, then cut. A weight
 * that rounds to 0 is 0 and is no longer in the set. O(n log topK) at worst, near
 * O(n) as a rule.
 */
export function cut(weights: Float64Array, { topK, minScore = 0, minRatio = 0 }: CutOptions): CutRows {
  const rounded = new Float64Array(weights.length);
  let best = 0;
  for (let at = 0; at < rounded.length; at++) {
    const weight = roundRelevance(weights[at] ?? 0);
    rounded[at] = weight;
    if (weight > best) best = weight;
  }
  const least = Math.max(minScore, minRatio * best) - TOLERANCE;
  const places: number[] = [];
  for (let at = 0; at < rounded.length; at++) {
    const weight = rounded[at] ?? 0;
    if (weight > 0 && weight >= least) places.push(at);
  }
  const limit = topK ?? places.length;
  const sorted = bestOf(places, rounded, limit);
  return { places: sorted, scores: sorted.map((at) => rounded[at] ?? 0), more: places.length > limit };
}

/** The best `limit` places; ties stay in document order because the sort is stable. */
function bestOf(places: readonly number[], weights: Float64Array, limit: number): readonly number[] {
  const least = limit < places.length ? nthLargest(weights, limit) : 0;
  const kept: number[] = [];
  for (const at of places) if ((weights[at] ?? 0) >= least) kept.push(at);
  return kept.sort((a, b) => (weights[b] ?? 0) - (weights[a] ?? 0)).slice(0, limit);
}
