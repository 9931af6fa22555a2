import type { Position } from "#query";
import { limitTo } from "./connection.js";
import type { Parameters } from "./select-step.js";

/**
 * How a position cuts an ordered set: by counting from one end, so that no more of the set is read than that, or, for a
 * range from one end to the other, by numbers.
 */
export type Cut =
  | { readonly kind: "first" | "last"; readonly skip: number; readonly take: number }
  /** All but the first `skip` and the last `drop`. */
  | { readonly kind: "middle"; readonly skip: number; readonly drop: number }
  /** From the `from`-th from the end to the `to`-th from the beginning. */
  | { readonly kind: "across"; readonly from: number; readonly to: number };

/** SQLite's "no limit". */
const ALL = -1;

/** Ranges clamp; what is out of range, or ends before it begins, selects nothing. */
export function cutOf(position: Position): Cut {
  if (position.kind === "index") {
    const { index } = position;
    return index > 0 ? { kind: "first", skip: index - 1, take: 1 } : { kind: "last", skip: -index - 1, take: 1 };
  }
  const { from = 1, to = -1 } = position;
  if (from > 0 && to > 0) return { kind: "first", skip: from - 1, take: Math.max(0, to - from + 1) };
  if (from < 0 && to < 0) return { kind: "last", skip: -to - 1, take: Math.max(0, to - from + 1) };
  if (from < 0) return { kind: "across", from: -from, to };
  return to === -1 ? { kind: "first", skip: from - 1, take: ALL } : { kind: "middle", skip: from - 1, drop: -to - 1 };
}

/** A set as a statement without an order, with the orders it can be read in. */
export interface OrderedSelect {
  /** `SELECT row, path, … FROM …`. */
  readonly select: string;
  /** What to write behind it to read in document order; empty where it comes so. */
  readonly ascending: string;
  readonly descending: string;
}

/** The statement of a cut set, and whether its rows come in document order. */
export function cutSelect(
  cut: Cut,
  { select, ascending, descending }: OrderedSelect,
  parameters: Parameters,
): { readonly select: string; readonly ordered: boolean } {
  const bind = (value: number): string => parameters.bind(Math.min(value, Number.MAX_SAFE_INTEGER));
  switch (cut.kind) {
    case "first":
      return { select: `${select}${ascending} ${limitTo(bind(cut.take))} OFFSET ${bind(cut.skip)}`, ordered: true };
    case "last":
      return {
        select: `${select}${descending} ${limitTo(bind(cut.take))} OFFSET ${bind(cut.skip)}`,
        ordered: cut.take === 1,
      };
    case "middle": {
      const rest = `${select}${ascending} LIMIT ${ALL} OFFSET ${bind(cut.skip)}`;
      return {
        select: `SELECT * FROM (${rest}) ORDER BY path DESC LIMIT ${ALL} OFFSET ${bind(cut.drop)}`,
        ordered: false,
      };
    }
    case "across": {
      const numbered = `SELECT *, row_number() OVER (ORDER BY path) AS number, count(*) OVER () AS size FROM (${select})`;
      return {
        select: `SELECT * FROM (${numbered}) WHERE number <= ${bind(cut.to)} AND number > size - ${bind(cut.from)}`,
        ordered: true,
      };
    }
  }
}

/** The same cut over numbered rows: `number` from 1 and `size`, of which there is one per context. */
export function cutCondition(position: Position, parameters: Parameters): string {
  const bind = (value: number): string => parameters.bind(value);
  const at = (index: number): string => (index > 0 ? bind(index) : `size + 1 - ${bind(-index)}`);
  if (position.kind === "index") return `number = ${at(position.index)}`;
  const { from, to } = position;
  return [
    "true",
    ...(from === undefined ? [] : [`number >= ${at(from)}`]),
    ...(to === undefined ? [] : [`number <= ${at(to)}`]),
  ].join(" AND ");
}
