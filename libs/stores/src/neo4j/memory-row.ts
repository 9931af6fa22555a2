/**
 * A structural statement answers with a row of the memory too, none if it is not there: one statement tells both what it
 * found and whether the indexes that it read serve its revision. The parts of a `UNION ALL` mostly answer one after the
 * other, but Cypher promises no order: a server may mix them.
 */
import type { Cells } from "./database.js";

/** @param columns those that the statement returns: two at least, the second never null */
export function withMemory(statement: string, [first = "", ...others]: readonly string[]): string {
  const nulls = others.map((name) => `, null AS ${name}`).join("");
  return `MATCH (m:Memory {key: $memory})\nRETURN m.purged AS ${first}${nulls}\nUNION ALL\n${statement}`;
}

/** What such a statement answered. */
export interface FoundInMemory {
  /** The first revision that the head's indexes serve; absent: the memory is not there. */
  readonly purged: number | undefined;
  readonly rows: readonly Cells[];
}

/** Only the memory's row has null in the second column. */
export function splitMemory(found: readonly Cells[]): FoundInMemory {
  const at = found.findIndex((row) => row.get(1) === null);
  const memory = found[at];
  if (memory === undefined) return { purged: undefined, rows: found };
  return { purged: memory.get(0) as number, rows: found.toSpliced(at, 1) };
}
