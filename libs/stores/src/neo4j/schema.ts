import type { MemoryScope } from "#core";
import type { MemorySchema, NameSummary, ValueKind } from "#memory";
import type { SchemaEntry } from "./change-counts.js";
import type { Transaction } from "./database.js";
import { memoryKey, memoryNotFound } from "./memory-key.js";

/** One row says that the memory is there. */
export const READ_SCHEMA = `
MATCH (m:Memory {key: $memory})
OPTIONAL MATCH (s:SchemaEntry) WHERE s.memory = m.key AND s.entry > ''
RETURN m.schemaVersion AS version, s.entry AS entry, s.count AS count`;

interface Counted<Entry extends SchemaEntry> {
  readonly entry: Entry;
  readonly count: number;
}
type NameEntry = Extract<SchemaEntry, readonly [unknown, unknown, unknown, unknown]>;

/** Σ from its counters: types, names and relations by name. O(size of the schema). @throws EspalierError `memory_not_found` */
export async function readSchema(transaction: Transaction, scope: MemoryScope): Promise<MemorySchema> {
  const rows = await transaction.run<{
    readonly version: number;
    readonly entry: string | null;
    readonly count: number;
  }>(READ_SCHEMA, { memory: memoryKey(scope) });
  const [first] = rows;
  if (first === undefined) throw memoryNotFound(scope);
  const entries = rows.flatMap(({ entry, count }) =>
    entry === null ? [] : [{ entry: JSON.parse(entry) as SchemaEntry, count }],
  );
  const names = entries.filter((one): one is Counted<NameEntry> => one.entry.length === 4);
  const byType = Map.groupBy(names, ({ entry }) => entry[1]);
  const types = entries.flatMap(({ entry, count }) => (entry[0] === "type" ? [{ type: entry[1], count }] : []));
  const relations = entries.flatMap(({ entry, count }) =>
    entry[0] === "relation" ? [{ parent: entry[1], child: entry[2], count }] : [],
  );
  return {
    version: first.version,
    types: sortedBy(types, ({ type }) => [type]).map(({ type, count }) => ({
      ...{ type, count },
      attributes: summaries(byType.get(type) ?? [], "attribute"),
      metadata: summaries(byType.get(type) ?? [], "metadata"),
    })),
    relations: sortedBy(relations, ({ parent, child }) => [parent, child]),
  };
}

function summaries(entries: readonly Counted<NameEntry>[], section: NameEntry[0]): readonly NameSummary[] {
  const own = sortedBy(
    entries.filter(({ entry }) => entry[0] === section),
    ({ entry }) => [entry[2], entry[3]],
  );
  return Array.from(
    Map.groupBy(own, ({ entry }) => entry[2]),
    ([name, kinds]) => ({
      name,
      kinds: Object.fromEntries(kinds.map(({ entry, count }) => [entry[3] as ValueKind, count])),
      count: kinds.reduce((sum, { count }) => sum + count, 0),
    }),
  );
}

function sortedBy<Item>(items: readonly Item[], keyOf: (item: Item) => readonly string[]): readonly Item[] {
  return [...items].sort((left, right) => compare(keyOf(left), keyOf(right)));
}

function compare([left = "", ...lefts]: readonly string[], [right = "", ...rights]: readonly string[]): number {
  if (left !== right) return left < right ? -1 : 1;
  return lefts.length === 0 ? 0 : compare(lefts, rights);
}
