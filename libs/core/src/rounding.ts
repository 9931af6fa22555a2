/**
 * A relevance to six decimals (language page, "Rounding"): noise around 0 must not keep a node, and equal texts must tie.
 * Idempotent. O(1).
 */
export function roundRelevance(value: number): number {
  return Math.round(value * 1e6) / 1e6;
}
