import type { Position } from "./ast.js";

/**
 * The part of `count` nodes in document order that a position selects, as 0-based `[start, end)`. Ranges clamp; an index
 * out of range, or a range whose start lies behind its end, selects nothing (`start === end`). O(1).
 */
export function selectPositions(
  position: Position | undefined,
  count: number,
): { readonly start: number; readonly end: number } {
  if (position === undefined) return { start: 0, end: count };
  const place = (index: number): number => (index < 0 ? count + index + 1 : index);
  const from = place(position.kind === "index" ? position.index : (position.from ?? 1));
  const to = place(position.kind === "index" ? position.index : (position.to ?? count));
  const start = Math.max(from, 1) - 1;
  const end = Math.min(to, count);
  const outside = position.kind === "index" && (from < 1 || from > count);
  return outside || start >= end ? { start: 0, end: 0 } : { start, end };
}
