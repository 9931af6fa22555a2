import type { Position } from "#query";
import type { Parameters } from "./parameters.js";

/**
 * A position's cut of all rows, as `WITH` clauses; a `WHERE` can follow. Counted from one end of the order, so that no more
 * is read than that, or, for a range from one end to the other, as a slice of all.
 *
 * @param carried names of what a row has, its node first
 */
export function cutClauses(
  position: Position,
  carried: readonly string[],
  orderBy: { readonly ascending: string; readonly descending: string },
  parameters: Parameters,
): readonly string[] {
  const names = carried.join(", ");
  const { from, to } = endsOf(position);
  const ascending = `WITH ${names} ORDER BY ${orderBy.ascending}`;
  const counted = (order: string, skip: number, take: number): string =>
    `WITH ${names} ORDER BY ${order} SKIP ${parameters.bindInteger(skip)} LIMIT ${parameters.bindInteger(Math.max(0, take))}`;
  if (from > 0 && to > 0) return [counted(orderBy.ascending, from - 1, to - from + 1)];
  if (from < 0 && to < 0) return [counted(orderBy.descending, -to - 1, to - from + 1)];
  if (to === -1) return [`${ascending} SKIP ${parameters.bindInteger(from - 1)}`];
  const [node = "", ...rest] = carried;
  const row = `{${carried.map((name) => `${name}: ${name}`).join(", ")}}`;
  return [
    ascending,
    `WITH collect(${rest.length === 0 ? node : row}) AS nodes`,
    `UNWIND ${sliceOf(position, "nodes", parameters)} AS ${rest.length === 0 ? node : "row"}`,
    `WITH ${rest.length === 0 ? node : carried.map((name) => `row.${name} AS ${name}`).join(", ")}`,
  ];
}

/** The part of a list in document order that a position selects. */
export function sliceOf(position: Position, list: string, parameters: Parameters): string {
  const { from, to } = endsOf(position);
  const before = (index: number): string =>
    index > 0 ? parameters.bindInteger(index - 1) : notNegative(`size(${list}) - ${parameters.bindInteger(-index)}`);
  const upTo = (index: number): string =>
    index > 0 ? parameters.bindInteger(index) : notNegative(`size(${list}) + 1 - ${parameters.bindInteger(-index)}`);
  return `${list}[${before(from)}..${upTo(to)}]`;
}

/** A negative end of a slice would count from the other end. */
function notNegative(number: string): string {
  return `CASE WHEN ${number} < 0 THEN 0 ELSE ${number} END`;
}

function endsOf(position: Position): { readonly from: number; readonly to: number } {
  if (position.kind === "index") return { from: position.index, to: position.index };
  return { from: position.from ?? 1, to: position.to ?? -1 };
}
