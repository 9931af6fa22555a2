import { EspalierError, type MemoryScope } from "#core";
import type { Memory, MemoryPatch, NewMemory, ScoringSettings, Structure, TenantTotals } from "#memory";
import { type Connection, limitTo } from "./connection.js";
import type { Liveness } from "./states.js";

interface MemoryRow {
  readonly row: number;
  readonly tenant: string;
  readonly id: string;
  readonly name: string;
  readonly labels: string;
  readonly structure: Structure;
  readonly templates: string;
  readonly scoring: string;
  readonly embedding_model: string;
  readonly next_embedding_model: string | null;
  readonly revision: number;
  readonly nodes: number;
  readonly tokens: number;
  readonly bytes: number;
  readonly schema_version: number;
  readonly created_at: number;
  readonly updated_at: number;
}

const COLUMNS = `row, tenant, id, name, labels, structure, templates, scoring, embedding_model, next_embedding_model,
  revision, nodes, tokens, bytes, schema_version, created_at, updated_at`;

/** What every call needs of its memory: the row that stands for (tenant, memory), and the head. */
export interface MemoryHead {
  readonly row: number;
  readonly revision: number;
  /** Live nodes. */
  readonly nodes: number;
  /** Live nodes whose text is not empty. */
  readonly texts: number;
  /** Children of the root. */
  readonly children: number;
}

/** @throws EspalierError `memory_not_found`, for another tenant's memory as for an unknown one */
export function findHead(connection: Connection, scope: MemoryScope): MemoryHead {
  const [head] = connection.tuples<
    readonly [row: number, revision: number, nodes: number, texts: number, children: number]
  >("SELECT row, revision, nodes, texts, children FROM memories WHERE tenant = ? AND id = ?", [
    scope.tenant,
    scope.memory,
  ]);
  if (head === undefined) throw unknownMemory(scope);
  const [row, revision, nodes, texts, children] = head;
  return { row, revision, nodes, texts, children };
}

/** How the states of a revision are found. */
export function livenessAt(memory: MemoryHead, revision: number): Liveness {
  return { head: revision === memory.revision, revision };
}

/** @throws EspalierError `memory_not_found` */
export function readMemory(connection: Connection, scope: MemoryScope): Memory {
  const row = connection.get<MemoryRow>(`SELECT ${COLUMNS} FROM memories WHERE tenant = ? AND id = ?`, [
    scope.tenant,
    scope.memory,
  ]);
  if (row === undefined) throw unknownMemory(scope);
  return memoryOf(row);
}

export function createMemory(connection: Connection, tenant: string, memory: NewMemory): Memory {
  const { id, name, labels, structure, templates, scoring, embeddingModel, createdAt } = memory;
  const { row } = connection.run(
    `INSERT INTO memories (tenant, id, name, labels, structure, templates, scoring, embedding_model, revision, nodes, tokens,
       texts, children, schema_version, created_at, updated_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0, 0, 0, 0, 0, 0, ?, ?)`,
    [
      ...[tenant, id, name, JSON.stringify(labels), structure, JSON.stringify(templates), JSON.stringify(scoring)],
      ...[embeddingModel, createdAt, createdAt],
    ],
  );
  writeLabels(connection, { tenant, memory: id }, row, labels);
  return readMemory(connection, { tenant, memory: id });
}

export function updateMemory(connection: Connection, scope: MemoryScope, patch: MemoryPatch, time: number): Memory {
  const { row } = findHead(connection, scope);
  const set = (column: string, value: string | null | undefined): void => {
    if (value !== undefined) connection.run(`UPDATE memories SET ${column} = ? WHERE row = ?`, [value, row]);
  };
  const json = (value: unknown): string | undefined => (value === undefined ? undefined : JSON.stringify(value));
  set("name", patch.name);
  set("labels", json(patch.labels));
  set("structure", patch.structure);
  set("templates", json(patch.templates));
  set("scoring", json(patch.scoring));
  set("embedding_model", patch.embeddingModel);
  set("next_embedding_model", patch.nextEmbeddingModel);
  connection.run("UPDATE memories SET updated_at = ? WHERE row = ?", [time, row]);
  if (patch.labels !== undefined) {
    connection.run("DELETE FROM labels WHERE memory = ?", [row]);
    writeLabels(connection, scope, row, patch.labels);
  }
  return readMemory(connection, scope);
}

/** One statement over an index alone. */
export function sumMemories(connection: Connection, tenant: string): TenantTotals {
  const totals = connection.get<TenantTotals>(
    `SELECT count(*) AS memories, coalesce(sum(nodes), 0) AS nodes, coalesce(sum(bytes), 0) AS bytes
     FROM memories INDEXED BY memories_by_counts WHERE tenant = ?`,
    [tenant],
  );
  return totals ?? { memories: 0, nodes: 0, bytes: 0 };
}

/** Ids are time-ordered, so the order of ids is the order of creation, and a page can begin after one that is gone. */
export function listMemories(
  connection: Connection,
  tenant: string,
  query: {
    readonly labels?: Readonly<Record<string, string>>;
    readonly name?: string;
    readonly limit: number;
    readonly after?: string;
  },
): readonly Memory[] {
  const conditions: string[] = [];
  const parameters: Record<string, string | number> = { tenant, limit: query.limit };
  const labels = Object.entries(query.labels ?? {});
  for (const [index, [name, value]] of labels.entries()) {
    conditions.push(
      `EXISTS (SELECT 1 FROM labels WHERE tenant = :tenant AND name = :name${index} AND value = :value${index} AND id = m.id)`,
    );
    parameters[`name${index}`] = name;
    parameters[`value${index}`] = value;
  }
  if (query.name !== undefined) {
    conditions.push("m.name = :name");
    parameters["name"] = query.name;
  }
  const [first] = labels;
  const source = first === undefined ? "memories m WHERE m.tenant = :tenant" : labelled(parameters, query.after);
  if (first === undefined && query.after !== undefined) conditions.push("m.id < :after");
  if (query.after !== undefined) parameters["after"] = query.after;
  const columns = COLUMNS.replaceAll(/\w+/g, "m.$&");
  const where = conditions.map((condition) => ` AND ${condition}`).join("");
  const order = first === undefined ? "m.id" : "l.id";
  return connection
    .all<MemoryRow>(`SELECT ${columns} FROM ${source}${where} ORDER BY ${order} DESC ${limitTo(":limit")}`, parameters)
    .map(memoryOf);
}

/** A list by label begins at the label: a tenant with very many memories keeps one per user. */
function labelled(parameters: Readonly<Record<string, unknown>>, after: string | undefined): string {
  const page = after === undefined ? "" : " AND l.id < :after";
  return `labels l CROSS JOIN memories m ON m.row = l.memory
    WHERE l.tenant = :tenant AND l.name = :name0 AND l.value = :value0${page}`;
}

function writeLabels(
  connection: Connection,
  scope: MemoryScope,
  row: number,
  labels: Readonly<Record<string, string>>,
): void {
  for (const [name, value] of Object.entries(labels)) {
    connection.run("INSERT INTO labels (tenant, name, value, id, memory) VALUES (?, ?, ?, ?, ?)", [
      scope.tenant,
      name,
      value,
      scope.memory,
      row,
    ]);
  }
}

function memoryOf(row: MemoryRow): Memory {
  return {
    tenant: row.tenant,
    id: row.id,
    name: row.name,
    labels: JSON.parse(row.labels) as Memory["labels"],
    structure: row.structure,
    templates: JSON.parse(row.templates) as Memory["templates"],
    scoring: JSON.parse(row.scoring) as ScoringSettings,
    embeddingModel: row.embedding_model,
    ...(row.next_embedding_model !== null && { nextEmbeddingModel: row.next_embedding_model }),
    revision: row.revision,
    nodes: row.nodes,
    bytes: row.bytes,
    tokens: row.tokens,
    schemaVersion: row.schema_version,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}

function unknownMemory({ memory }: MemoryScope): EspalierError {
  return new EspalierError("memory_not_found", `No memory ${memory}.`, { details: { memory } });
}
