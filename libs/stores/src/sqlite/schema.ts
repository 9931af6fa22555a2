import type { MemorySchema, NameSummary, ValueKind } from "#memory";
import type { Connection } from "./connection.js";
import type { MemoryHead } from "./memories.js";

interface NameRow {
  readonly type: string;
  readonly section: "attribute" | "metadata";
  readonly name: string;
  readonly kind: ValueKind;
  readonly count: number;
}

/** Σ from its counters: types, names and relations by name. Cost: the schema's size, not the memory's. */
export function readSchema(connection: Connection, memory: number, version: number): MemorySchema {
  const types = connection.all<{ readonly type: string; readonly count: number }>(
    "SELECT type, count FROM schema_types WHERE memory = ? ORDER BY type",
    [memory],
  );
  const names = connection.all<NameRow>(
    "SELECT type, section, name, kind, count FROM schema_names WHERE memory = ? ORDER BY type, section, name, kind",
    [memory],
  );
  const relations = connection.all<MemorySchema["relations"][number]>(
    "SELECT parent, child, count FROM schema_relations WHERE memory = ? ORDER BY parent, child",
    [memory],
  );
  const byType = Map.groupBy(names, ({ type }) => type);
  return {
    version,
    types: types.map(({ type, count }) => {
      const own = byType.get(type) ?? [];
      return { type, count, attributes: summaries(own, "attribute"), metadata: summaries(own, "metadata") };
    }),
    relations: relations.map((relation) => ({ ...relation })),
  };
}

/** Live nodes of a type, or of all. One row of the counters. */
export function countOfType(connection: Connection, memory: MemoryHead, type: string | undefined): number {
  if (type === undefined) return memory.nodes;
  const sql = "SELECT count FROM schema_types WHERE memory = ? AND type = ?";
  return connection.get<{ readonly count: number }>(sql, [memory.row, type])?.count ?? 0;
}

function summaries(rows: readonly NameRow[], section: NameRow["section"]): readonly NameSummary[] {
  const byName = Map.groupBy(
    rows.filter((row) => row.section === section),
    ({ name }) => name,
  );
  return Array.from(byName, ([name, kinds]) => ({
    name,
    kinds: Object.fromEntries(kinds.map(({ kind, count }) => [kind, count])),
    count: kinds.reduce((sum, { count }) => sum + count, 0),
  }));
}
