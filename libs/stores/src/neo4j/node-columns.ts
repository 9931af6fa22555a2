import type { Attributes } from "#core";
import type { RunRow } from "#query";

const KEY = ["id", "born", "type", "parent", "pathKey", "depth"] as const;
const VALUES = ["attributes", "metadata"] as const;

/** A cell of a row. */
export type Cell = string | number | null;

/**
 * The columns of a node of a run or of evidence: its key, and its values as JSON. `suffix` tells the nodes of one row apart.
 * Without an alias the columns are null.
 */
export function nodeColumns(
  alias: string | undefined,
  { values, suffix = "" }: { readonly values: boolean; readonly suffix?: string },
): readonly string[] {
  return [...KEY, ...(values ? VALUES : [])].map(
    (name) => `${alias === undefined ? "null" : `${alias}.${name}`} AS ${name}${suffix}`,
  );
}

/** The node of such columns. */
export function nodeOf(
  row: Readonly<Record<string, Cell>>,
  { values, suffix = "" }: { readonly values: boolean; readonly suffix?: string },
): Omit<RunRow, "weight"> {
  const cell = (name: string): Cell => row[name + suffix] ?? null;
  const parent = cell("parent") as string;
  const key = {
    id: cell("id") as string,
    born: cell("born") as number,
    type: cell("type") as string,
    parentId: parent === "" ? null : parent,
    pathKey: cell("pathKey") as string,
    depth: cell("depth") as number,
  };
  if (!values) return { key };
  const attributes = JSON.parse(cell("attributes") as string) as Attributes;
  return { key, attributes, metadata: JSON.parse(cell("metadata") as string) as Attributes };
}
