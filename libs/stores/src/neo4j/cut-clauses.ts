import type { Position } from "#query";
import type { Parameters } from "./parameters.js";

/** What stands behind `ORDER BY` to read in document order. */
export interface Orders {
  readonly ascending: string;
  readonly descending: string;
}

/** The orders of a node by properties. */
export function ordersOf(alias: string, properties: readonly string[]): Orders {
  const by = (direction: string): string => properties.map((name) => `${alias}.${name}${direction}`).join(", ");
  return { ascending: by(""), descending: by(" DESC") };
}

/**
 * A position's cut of all rows, as `WITH` clauses; a `WHERE` can follow. Counted from one end of the order, so that no more
 * is read than that, or, for a range from one end to the other, as a slice of all.
 *
 * @param carried names of what a row has, its node first
 */
export function cutClauses(
  position: Position,
  carried: readonly string[],
  orderBy: Orders,
  parameters: Parameters,
): readonly string[] {
  const counted = countedCut(position, orderBy, parameters);
  if (counted !== undefined) return [`WITH ${carried.join(", ")} ${counted}`];
  const [node = "", ...rest] = carried;
  const row = `{${carried.map((name) => `${name}: ${name}`).join(", ")}}`;
  return [
    `WITH ${carried.join(", ")} ORDER BY ${orderBy.ascending}`,
    `WITH collect(${rest.length === 0 ? node : row}) AS nodes`,
    `UNWIND ${sliceOf(position, "nodes", parameters)} AS ${rest.length === 0 ? node : "row"}`,
    `WITH ${rest.length === 0 ? node : carried.map((name) => `row.${name} AS ${name}`).join(", ")}`,
  ];
}

/** The cut as `ORDER BY … SKIP … LIMIT …`; `undefined` if it counts from both ends. */
export function countedCut(position: Position, orderBy: Orders, parameters: Parameters): string | undefined {
  const { from, to } = endsOf(position);
  const skip = (count: number): string => `SKIP ${parameters.bindInteger(count)}`;
  const limit = (): string => `LIMIT ${parameters.bindInteger(Math.max(0, to - from + 1))}`;
  if (from > 0 && to > 0) return `ORDER BY ${orderBy.ascending} ${skip(from - 1)} ${limit()}`;
  if (from < 0 && to < 0) return `ORDER BY ${orderBy.descending} ${skip(-to - 1)} ${limit()}`;
  return to === -1 ? `ORDER BY ${orderBy.ascending} ${skip(from - 1)}` : undefined;
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
