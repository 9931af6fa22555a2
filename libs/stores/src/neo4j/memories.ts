import type { MemoryScope } from "#core";
import type { Memory, MemoryPatch, NewMemory, ScoringSettings, TenantTotals, TreeStore } from "#memory";
import type { Transaction } from "./database.js";
import { memoryKey, memoryNotFound } from "./memory-key.js";

const COLUMNS = `m.tenant AS tenant, m.id AS id, m.name AS name, m.labels AS labels, m.structure AS structure,
  m.templates AS templates, m.scoring AS scoring, m.embeddingModel AS embeddingModel,
  m.nextEmbeddingModel AS nextEmbeddingModel, m.revision AS revision, m.nodes AS nodes, m.tokens AS tokens,
  m.bytes AS bytes, m.schemaVersion AS schemaVersion, m.createdAt AS createdAt, m.updatedAt AS updatedAt`;

interface MemoryRow extends Omit<Memory, "labels" | "templates" | "scoring" | "nextEmbeddingModel"> {
  /** JSON. */
  readonly labels: string;
  readonly templates: string;
  readonly scoring: string;
  readonly nextEmbeddingModel: string | null;
}

/** Statements over memories. `$memory` is the memory's key. `$labels` are its labels as `[name, value]`. */
export const MEMORIES = {
  /** A repeat finds what it made itself: `$maker` is new with every creation. */
  create: `
MERGE (m:Memory {key: $memory})
ON CREATE SET m += $settings, m.maker = $maker, m.revision = 0, m.allocated = 0, m.purged = 0, m.nodes = 0, m.tokens = 0,
  m.bytes = 0, m.children = 0, m.schemaVersion = 0, m.createdAt = toInteger($time), m.updatedAt = toInteger($time)
MERGE (t:Tracked {memory: $memory, model: m.embeddingModel, field: ''})
ON CREATE SET t.done = true, t.id = '', t.born = 0
RETURN m.maker = $maker AS made, ${COLUMNS}`,

  get: `
MATCH (m:Memory {key: $memory})
RETURN ${COLUMNS}`,

  update: `
MATCH (m:Memory {key: $memory})
SET m += $settings, m.updatedAt = toInteger($time)
RETURN ${COLUMNS}`,

  /** Names all properties of the index that has them, which spares reading the memories. */
  sum: `
MATCH (m:Memory) WHERE m.tenant = $tenant AND m.nodes IS NOT NULL AND m.bytes IS NOT NULL
RETURN count(m) AS memories, sum(m.nodes) AS nodes, sum(m.bytes) AS bytes`,

  removeLabels: `
MATCH (l:Label {memory: $memory})
DELETE l`,

  addLabels: `
UNWIND $labels AS label
MERGE (l:Label {tenant: $tenant, name: label[0], value: label[1], id: $id})
SET l.memory = $memory`,

  /** Ids are in order of time, so the order of ids is that of creation, and a page can begin after one that is gone. */
  list: `
MATCH (m:Memory) WHERE m.tenant = $tenant AND m.id < $before AND ($name IS NULL OR m.name = $name)
RETURN ${COLUMNS}
ORDER BY m.tenant DESC, m.id DESC LIMIT toInteger($limit)`,

  /** Begins at one label: a tenant with very many memories keeps one per user. `$pairs` are all labels wanted. */
  listLabelled: `
MATCH (l:Label) WHERE l.tenant = $tenant AND l.name = $label AND l.value = $value AND l.id < $before
MATCH (m:Memory {key: l.memory})
WHERE ($name IS NULL OR m.name = $name) AND all(pair IN $pairs WHERE pair IN m.labelPairs)
RETURN ${COLUMNS}
ORDER BY l.tenant DESC, l.name DESC, l.value DESC, l.id DESC LIMIT toInteger($limit)`,
} as const;

/** Above every id. */
const LAST_ID = "\uffff";

/**
 * Another memory of that id is an error of the caller, who makes ids. `maker` is unique to the call, and the same when its
 * transaction is run again.
 */
export async function createMemory(
  transaction: Transaction,
  tenant: string,
  { memory, maker }: { readonly memory: NewMemory; readonly maker: string },
): Promise<Memory> {
  const { id, createdAt, ...settings } = memory;
  const scope = { tenant, memory: id };
  const [row] = await transaction.run<MemoryRow & { readonly made: boolean }>(MEMORIES.create, {
    ...{ memory: memoryKey(scope), maker, time: createdAt },
    settings: { tenant, id, ...propertiesOf(settings) },
  });
  if (row?.made !== true) throw new Error(`The memory ${id} exists.`);
  await addLabels(transaction, scope, memory.labels);
  return memoryOf(row);
}

/** @throws EspalierError `memory_not_found`, for another tenant's memory as for an unknown one */
export async function readMemory(transaction: Transaction, scope: MemoryScope): Promise<Memory> {
  const [row] = await transaction.run<MemoryRow>(MEMORIES.get, { memory: memoryKey(scope) });
  if (row === undefined) throw memoryNotFound(scope);
  return memoryOf(row);
}

/** @throws EspalierError `memory_not_found` */
export async function updateMemory(
  transaction: Transaction,
  scope: MemoryScope,
  patch: MemoryPatch,
  time: number,
): Promise<Memory> {
  const memory = memoryKey(scope);
  const [row] = await transaction.run<MemoryRow>(MEMORIES.update, { memory, time, settings: propertiesOf(patch) });
  if (row === undefined) throw memoryNotFound(scope);
  if (patch.labels !== undefined) {
    await transaction.run(MEMORIES.removeLabels, { memory });
    await addLabels(transaction, scope, patch.labels);
  }
  return memoryOf(row);
}

export async function listMemories(
  transaction: Transaction,
  tenant: string,
  {
    labels = {},
    name = null,
    limit,
    after = LAST_ID,
  }: Omit<Parameters<TreeStore["listMemories"]>[1], "name"> & {
    readonly name?: string | null;
  },
): Promise<readonly Memory[]> {
  const [first] = Object.entries(labels);
  const page = { tenant, name, before: after, limit };
  const rows = await (first === undefined
    ? transaction.run<MemoryRow>(MEMORIES.list, page)
    : transaction.run<MemoryRow>(MEMORIES.listLabelled, {
        ...{ ...page, label: first[0], value: first[1], pairs: pairsOf(labels) },
      }));
  return rows.map(memoryOf);
}

/** One statement over an index. */
export async function sumMemories(transaction: Transaction, tenant: string): Promise<TenantTotals> {
  const [totals] = await transaction.run<TenantTotals>(MEMORIES.sum, { tenant });
  return totals ?? { memories: 0, nodes: 0, bytes: 0 };
}

async function addLabels(
  transaction: Transaction,
  { tenant, memory: id }: MemoryScope,
  labels: Memory["labels"],
): Promise<void> {
  const memory = memoryKey({ tenant, memory: id });
  await transaction.run(MEMORIES.addLabels, { tenant, id, memory, labels: Object.entries(labels) });
}

const pairsOf = (labels: Memory["labels"]): readonly string[] =>
  Object.entries(labels).map((pair) => JSON.stringify(pair));

/** Settings as properties of the memory's node; absent ones stay, null removes. */
function propertiesOf({ labels, templates, scoring, ...scalars }: MemoryPatch): Readonly<Record<string, unknown>> {
  return {
    ...scalars,
    ...(labels !== undefined && { labels: JSON.stringify(labels), labelPairs: pairsOf(labels) }),
    ...(templates !== undefined && { templates: JSON.stringify(templates) }),
    ...(scoring !== undefined && { scoring: JSON.stringify(scoring) }),
  };
}

function memoryOf(row: MemoryRow): Memory {
  const { tenant, id, name, structure, embeddingModel, nextEmbeddingModel } = row;
  const { revision, nodes, tokens, bytes, schemaVersion, createdAt, updatedAt } = row;
  return {
    ...{ tenant, id, name, labels: JSON.parse(row.labels) as Memory["labels"], structure },
    templates: JSON.parse(row.templates) as Memory["templates"],
    scoring: JSON.parse(row.scoring) as ScoringSettings,
    embeddingModel,
    ...(nextEmbeddingModel !== null && { nextEmbeddingModel }),
    ...{ revision, nodes, tokens, bytes, schemaVersion, createdAt, updatedAt },
  };
}
