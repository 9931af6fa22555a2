import type { Attributes } from "#core";
import type { RunRow } from "#query";

const KEY = ["id", "born", "type", "parent", "pathKey", "depth"] as const;
const VALUES = ["attributes", "metadata"] as const;

/** A row by column names. */
export type Row = Readonly<Record<string, string | number | null>>;

interface Columns {
  /** Whether the values are there, as JSON. */
  readonly values: boolean;
  /** Tells the nodes of one row apart. */
  readonly suffix?: string;
}

/** The columns of a node of a run or of evidence: its key, and its values. Without an alias they are null. */
export function nodeColumns(alias: string | undefined, { values, suffix = "" }: Columns): readonly string[] {
  return [...KEY, ...(values ? VALUES : [])].map(
    (name) => `${alias === undefined ? "null" : `${alias}.${name}`} AS ${name}${suffix}`,
  );
}

/** Makes what reads the node of such columns from rows: names are put together once, not for each row. */
export function nodeReader({ values, suffix = "" }: Columns): (row: Row) => Omit<RunRow, "weight"> {
  const [id, born, type, parent, path, depth] = KEY.map((name) => name + suffix) as [...typeof KEY];
  const [attributes, metadata] = VALUES.map((name) => name + suffix) as [...typeof VALUES];
  const keyOf = (row: Row): RunRow["key"] => ({
    id: row[id] as string,
    born: row[born] as number,
    type: row[type] as string,
    parentId: row[parent] === "" ? null : (row[parent] as string),
    pathKey: row[path] as string,
    depth: row[depth] as number,
  });
  const jsonOf = (cell: Row[string] | undefined): Attributes => JSON.parse(cell as string) as Attributes;
  if (!values) return (row) => ({ key: keyOf(row) });
  return (row) => ({ key: keyOf(row), attributes: jsonOf(row[attributes]), metadata: jsonOf(row[metadata]) });
}
