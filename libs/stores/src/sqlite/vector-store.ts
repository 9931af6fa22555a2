import { fieldText, type MemoryScope, NODE_FIELD, type NodeFilter, roundRelevance } from "#core";
import type { Fingerprint, VectorPoint, VectorRead, VectorStore } from "#memory";
import type { Ranking, ScoredKey, StateRef } from "#scoring";
import { BestFirst } from "../best-first.js";
import { inverseLength, Query } from "../cosine.js";
import { fingerprintOf } from "../point-fingerprint.js";
import type { Connection } from "./connection.js";
import type { Database } from "./database.js";
import { removeInTurns } from "./delete-memory.js";
import { filterSelect } from "./filter-conditions.js";
import { countOfType } from "./schema.js";
import { type MemoryImage, type MemoryImages, ordinalsOf } from "./image/memory-images.js";
import type { VectorMatrix } from "./image/vector-matrix.js";
import { findHead, livenessAt, type MemoryHead } from "./memories.js";
import { keyColumns, keyOf, type KeyTuple, type Liveness, liveCondition, NEVER, valuesOf } from "./states.js";
import {
  bytesOf,
  checkDimension,
  findVectorSet,
  type StateVector,
  vectorOf,
  type VectorSet,
  VectorWriter,
} from "./vector-sets.js";

/** What a read works on: the memory at a revision, and the set of its vectors if there is one. */
interface OpenSet {
  readonly connection: Connection;
  readonly memory: MemoryHead;
  readonly liveness: Liveness;
  readonly set: VectorSet | undefined;
}

/** Points written before other work of the process has its turn: some milliseconds. */
const POINTS_PER_TURN = 500;

/** Vectors in SQLite, one row each, in the tables of the trees: one transaction writes both. */
export class SqliteVectorStore implements VectorStore {
  constructor(
    private readonly database: Database,
    private readonly images: MemoryImages,
  ) {}

  scores(
    scope: MemoryScope,
    read: VectorRead,
    vector: Float32Array,
    states: readonly StateRef[],
  ): Promise<Float64Array> {
    return this.#open(scope, read, vector, (open) => {
      const found = this.#image(
        open,
        () => states.length,
        (image, matrix) => {
          const ordinals = ordinalsOf(image, states);
          return ordinals && matrix.scores(vector, ordinals);
        },
      );
      return found ?? scoresByStatement(open, vector, states);
    });
  }

  topK(
    scope: MemoryScope,
    read: VectorRead,
    vector: Float32Array,
    filter: NodeFilter,
    { limit }: { readonly limit: number; readonly exact: boolean },
  ): Promise<Ranking> {
    return this.#open(scope, read, vector, (open) => {
      const looked = (): number => countOfType(open.connection, open.memory, filter.type);
      const found = this.#image(open, looked, ({ keys }, matrix) =>
        matrix
          .topK(vector, keys.select(filter, read.revision), limit)
          .map(({ ordinal, value }) => ({ key: keys.key(ordinal), value })),
      );
      return { rows: found ?? topKByStatement(open, vector, filter, limit), approximate: false };
    });
  }

  missing(
    scope: MemoryScope,
    read: VectorRead,
    of: { readonly filter: NodeFilter } | { readonly states: readonly StateRef[] },
    limit: number,
  ): Promise<readonly (StateRef & { readonly text: string })[]> {
    return this.#open(scope, read, undefined, (open) => missingTexts(open, read.field, of, limit));
  }

  upsert(scope: MemoryScope, points: readonly VectorPoint[]): Promise<void> {
    return this.database.write((connection) => upsertPoints(connection, scope, points));
  }

  deleteFormer(scope: MemoryScope): Promise<number> {
    return this.database.write((connection) => deleteFormerSets(connection, findHead(connection, scope).row));
  }

  fingerprint(scope: MemoryScope, model: string): Promise<Fingerprint> {
    return this.database.read((connection) => {
      const { row } = findHead(connection, scope);
      return fingerprintOf(
        connection
          .all<{ readonly id: string; readonly born: number; readonly died: number; readonly field: string }>(
            `SELECT s.id, s.born, s.died, t.field FROM vector_sets t CROSS JOIN vectors v ON v.vector_set = t.id
             CROSS JOIN states s ON s.row = v.state WHERE t.memory = ? AND t.model = ?`,
            [row, model],
          )
          .map(({ died, ...point }) => (died === NEVER ? point : { ...point, died })),
      );
    });
  }

  #image<T>(
    { connection, memory, liveness, set }: OpenSet,
    states: () => number,
    use: (image: MemoryImage, matrix: VectorMatrix) => T | undefined,
  ): T | undefined {
    return set && this.images.openVectors(connection, memory, set, { revision: liveness.revision, states }, use);
  }

  #open<T>(
    scope: MemoryScope,
    read: VectorRead,
    vector: Float32Array | undefined,
    work: (open: OpenSet) => T,
  ): Promise<T> {
    return this.database.read((connection) => {
      const memory = findHead(connection, scope);
      const set = findVectorSet(connection, memory.row, read);
      if (set !== undefined && vector !== undefined) checkDimension(read.model, set.dimension, vector.length);
      return work({ connection, memory, liveness: livenessAt(memory, read.revision), set });
    });
  }
}

/** Cosines of named states, one after the other as the statement finds them. */
function scoresByStatement(
  { connection, memory, set }: OpenSet,
  vector: Float32Array,
  states: readonly StateRef[],
): Float64Array {
  const values = new Float64Array(states.length).fill(Number.NaN);
  if (set === undefined || states.length === 0) return values;
  const rows = connection.iterate<readonly [index: number, vector: Uint8Array]>(
    `SELECT i.key, v.vector FROM json_each(:states) i
     CROSS JOIN states s INDEXED BY states_by_id ON s.memory = :memory AND s.id = i.value ->> 0 AND s.born = i.value ->> 1
     CROSS JOIN vectors v INDEXED BY vectors_by_state ON v.vector_set = :set AND v.state = s.row`,
    { memory: memory.row, set: set.id, states: refsOf(states) },
  );
  const query = new Query(vector);
  for (const [index, bytes] of rows) values[index] = cosineOf(query, bytes);
  return values;
}

/**
 * The best of a filter without reading vectors into this process: sqlite-vec computes near values (32-bit arithmetic) beside
 * the rows, and those that can be among the best are computed again exactly.
 */
function topKByStatement(
  { connection, memory, liveness, set }: OpenSet,
  vector: Float32Array,
  filter: NodeFilter,
  limit: number,
): readonly ScoredKey[] {
  if (set === undefined) return [];
  const candidates = filterSelect(filter, memory.row, liveness);
  const near = new BestFirst<Near>(limit);
  const possible: Near[] = [];
  const rows = connection.iterate<readonly [row: number, path: string, cosine: number]>(
    `WITH candidates AS (${candidates.sql})
     SELECT c.row, c.path, 1 - vec_distance_cosine(v.vector, :vector) FROM candidates c
     CROSS JOIN vectors v INDEXED BY vectors_by_state ON v.vector_set = :set AND v.state = c.row`,
    { ...candidates.parameters, set: set.id, vector: bytesOf(vector) },
  );
  for (const [row, path, value] of rows) {
    if (value <= -NEAR_ERROR || value < near.threshold - NEAR_ERROR) continue;
    possible.push({ row, path, value });
    near.offer({ row, path, value });
  }
  const chosen = possible.filter(({ value }) => value >= near.threshold - NEAR_ERROR);
  return withKeys(connection, exactly(connection, set, vector, chosen, limit));
}

interface Near {
  readonly row: number;
  readonly path: string;
  readonly value: number;
}

/** More than twice the error of 32-bit sums of a few thousand products. */
const NEAR_ERROR = 1e-4;

function exactly(
  connection: Connection,
  set: VectorSet,
  vector: Float32Array,
  chosen: readonly Near[],
  limit: number,
): readonly Near[] {
  const query = new Query(vector);
  const best = new BestFirst<Near>(limit);
  const rows = connection.iterate<readonly [index: number, vector: Uint8Array]>(
    `SELECT i.key, v.vector FROM json_each(?) i
     CROSS JOIN vectors v INDEXED BY vectors_by_state ON v.vector_set = ? AND v.state = i.value`,
    [JSON.stringify(chosen.map(({ row }) => row)), set.id],
  );
  for (const [index, bytes] of rows) {
    const value = roundRelevance(cosineOf(query, bytes));
    const state = chosen[index];
    if (state !== undefined && value > 0) best.offer({ ...state, value });
  }
  return best.ranked();
}

function cosineOf(query: Query, bytes: Uint8Array): number {
  const vector = vectorOf(bytes);
  return query.cosine(vector, 0, inverseLength(vector, 0, vector.length));
}

/** The keys of ranked states. */
export function withKeys(
  connection: Connection,
  ranked: readonly { readonly row: number; readonly value: number }[],
): readonly ScoredKey[] {
  const keys = connection.tuples<KeyTuple>(
    `SELECT ${keyColumns("s")} FROM json_each(?) r CROSS JOIN states s ON s.row = r.value ORDER BY r.key`,
    [JSON.stringify(ranked.map(({ row }) => row))],
  );
  return keys.map((key, index) => ({ key: keyOf(key), value: ranked[index]?.value ?? 0 }));
}

function missingTexts(
  open: OpenSet,
  field: string,
  of: { readonly filter: NodeFilter } | { readonly states: readonly StateRef[] },
  limit: number,
): readonly (StateRef & { readonly text: string })[] {
  const { connection, memory, liveness, set } = open;
  if ("filter" in of && isComplete(open, field)) return [];
  const candidates =
    "filter" in of
      ? filterSelect(of.filter, memory.row, liveness)
      : {
          sql: `SELECT s.row AS row FROM json_each(:states) i CROSS JOIN states s INDEXED BY states_by_id
                ON s.memory = :memory AND s.id = i.value ->> 0 AND s.born = i.value ->> 1 AND ${liveCondition("s", { ...liveness, head: false })}`,
          parameters: { memory: memory.row, states: refsOf(of.states), revision: liveness.revision },
        };
  const named = field === NODE_FIELD ? "s.text <> ''" : "json_type(s.attributes, :name) IS NOT NULL";
  const rows = connection.iterate<readonly [id: string, born: number, text: string, attributes: string]>(
    `WITH candidates AS (${candidates.sql})
     SELECT s.id, s.born, s.text, s.attributes FROM candidates c CROSS JOIN states s ON s.row = c.row
     WHERE ${named} AND NOT EXISTS (SELECT 1 FROM vectors v WHERE v.vector_set = :set AND v.state = c.row)`,
    { ...candidates.parameters, set: set?.id ?? 0, ...(field !== NODE_FIELD && { name: `$."${field}"` }) },
  );
  const missing: (StateRef & { readonly text: string })[] = [];
  for (const [id, born, text, attributes] of rows) {
    if (missing.length === limit) break;
    const wanted = fieldText({ text, attributes: valuesOf(attributes, "{}").attributes }, field) ?? "";
    if (wanted !== "") missing.push({ id, born, text: wanted });
  }
  return missing;
}

/** Whether counters say that nothing is missing at the head: the usual case must not look at the nodes. */
function isComplete({ connection, memory, liveness, set }: OpenSet, field: string): boolean {
  if (!liveness.head) return false;
  const texts =
    field === NODE_FIELD
      ? memory.texts
      : connection.get<{ readonly texts: number | null }>(
          "SELECT sum(texts) AS texts FROM schema_names WHERE memory = ? AND section = 'attribute' AND name = ?",
          [memory.row, field],
        )?.texts;
  return (texts ?? 0) <= (set?.live ?? 0);
}

/** The sets of models that a memory is neither on nor moving to. */
function* deleteFormerSets(connection: Connection, memory: number): Generator<void, number, void> {
  const sets = connection.all<{ readonly id: number }>(
    `SELECT t.id FROM memories m CROSS JOIN vector_sets t ON t.memory = m.row
     WHERE m.row = ? AND t.model <> m.embedding_model AND t.model IS NOT m.next_embedding_model`,
    [memory],
  );
  let deleted = 0;
  for (const { id } of sets) {
    deleted += yield* removeInTurns(
      connection,
      `DELETE FROM vectors WHERE sequence IN
         (SELECT sequence FROM vectors INDEXED BY vectors_by_sequence WHERE vector_set = :id LIMIT :limit)`,
      { id },
    );
    connection.run("DELETE FROM vector_sets WHERE id = ?", [id]);
  }
  return deleted;
}

function* upsertPoints(
  connection: Connection,
  scope: MemoryScope,
  points: readonly VectorPoint[],
): Generator<void, void, void> {
  const memory = connection.get<{ readonly row: number }>("SELECT row FROM memories WHERE tenant = ? AND id = ?", [
    scope.tenant,
    scope.memory,
  ]);
  if (memory === undefined) return;
  const vectors = stateVectors(connection, memory.row, points);
  const writer = new VectorWriter(connection, memory.row);
  for (let at = 0; at < vectors.length; at += POINTS_PER_TURN) {
    if (at > 0) yield;
    writer.put(vectors.slice(at, at + POINTS_PER_TURN));
  }
  writer.finish();
}

/** The points whose states there are. By revision: the points of one call have few, and an id alone is found faster. */
function stateVectors(connection: Connection, memory: number, points: readonly VectorPoint[]): readonly StateVector[] {
  return [...Map.groupBy(points, ({ born }) => born)].flatMap(([born, vectors]) => {
    const rows = connection.tuples<readonly [index: number, row: number, died: number]>(
      `SELECT i.key, s.row, s.died FROM json_each(?) i CROSS JOIN states s INDEXED BY states_by_id
       ON s.memory = ? AND s.id = i.value AND s.born = ?`,
      [JSON.stringify(vectors.map(({ id }) => id)), memory, born],
    );
    return rows.flatMap(([index, row, died]) => {
      const vector = vectors[index];
      return vector === undefined ? [] : [{ vector, row, head: died === NEVER }];
    });
  });
}

/** States as one JSON parameter. */
export function refsOf(states: readonly StateRef[]): string {
  return JSON.stringify(states.map(({ id, born }) => [id, born]));
}
