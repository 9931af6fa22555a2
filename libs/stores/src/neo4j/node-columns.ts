import { type Attributes, PATH_SEPARATOR } from "#core";
import type { RunRow, StructuralStep } from "#query";
import type { Cells } from "./database.js";

const KEY = ["born", "id", "parent", "pathKey"] as const;
const VALUES = ["attributes", "metadata"] as const;

/** What the columns of a node say of it: what is known without them costs no read of the node. */
export interface Columns {
  /** Whether the type is there: absent where the step that found the node names it. */
  readonly type: boolean;
  /** Whether the values are there, as JSON. */
  readonly values: boolean;
}

/** The columns of a node of a run or of evidence, in the order of their places; `suffix` tells the nodes of one row apart. */
export function nodeColumns({ type, values }: Columns, suffix = ""): readonly string[] {
  return [...KEY, ...(type ? ["type"] : []), ...(values ? VALUES : [])].map((name) => name + suffix);
}

/** What a statement returns as such columns of a node; without an alias they are null. */
export function nodeCells(alias: string | undefined, columns: Columns, suffix = ""): readonly string[] {
  const names = nodeColumns(columns, suffix);
  return nodeColumns(columns).map((name, at) => `${alias === undefined ? "null" : `${alias}.${name}`} AS ${names[at]}`);
}

/** Makes what reads the node of a step from its columns, the first of which has a place in the row. */
export function nodeReader(
  step: Pick<StructuralStep, "type"> | undefined,
  columns: Columns,
  place = 0,
): (row: Cells) => Omit<RunRow, "weight"> {
  const named = step?.type;
  const typePlace = place + KEY.length;
  const valuesPlace = typePlace + (columns.type ? 1 : 0);
  const keyOf = (row: Cells): RunRow["key"] => {
    const parent = row.get(place + 2) as string;
    const pathKey = row.get(place + 3) as string;
    return {
      id: row.get(place + 1) as string,
      born: row.get(place) as number,
      type: named ?? (row.get(typePlace) as string),
      parentId: parent === "" ? null : parent,
      pathKey,
      depth: depthOf(pathKey),
    };
  };
  const jsonOf = (row: Cells, at: number): Attributes => JSON.parse(row.get(at) as string) as Attributes;
  if (!columns.values) return (row) => ({ key: keyOf(row) });
  return (row) => ({
    ...{ key: keyOf(row), attributes: jsonOf(row, valuesPlace), metadata: jsonOf(row, valuesPlace + 1) },
  });
}

/** Levels below the root: the parts of a path. */
export function depthOf(pathKey: string): number {
  let depth = 1;
  for (let at = pathKey.indexOf(PATH_SEPARATOR); at >= 0; at = pathKey.indexOf(PATH_SEPARATOR, at + 1)) depth += 1;
  return depth;
}
