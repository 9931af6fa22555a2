/**
 * A change set in one transaction:
 *
 * 1. The inbox: a step that was committed before answers its first result and changes nothing.
 * 2. The head must be the revision that the change was computed against, and its terms must cover every indexed field.
 * 3. States end: they leave the head, and the counters of schema, vectors and terms.
 * 4. States begin, with their vectors and postings.
 * 5. Counters of parents, schema and memory; the revision with the range of its state rows; the inbox row.
 *
 * Nothing is visible before the transaction ends, and nothing of it is left if the process dies in it.
 */
import type { SQLInputValue } from "node:sqlite";
import { EspalierError, type MemoryScope, RETENTION_SECONDS } from "#core";
import { stateBytes, type ChangeSet, type CommitResult, type NewState } from "#memory";
import { ROOT_TYPE } from "../value-kinds.js";
import type { Connection } from "./connection.js";
import { findHead, type MemoryHead } from "./memories.js";
import { RowWriter } from "./row-writer.js";
import { SchemaDelta } from "./schema-delta.js";
import { NEVER, type StateTuple, STATE_WIDTH, stateColumns, stateOf } from "./states.js";
import { indexedFields, TermWriter } from "./term-sets.js";
import { countEndedVectors, VectorWriter } from "./vector-sets.js";

/** States written before other work of the process has its turn: some milliseconds. */
const STATES_PER_TURN = 200;

const STATE_COLUMNS = [
  ...["row", "memory", "id", "type", "parent", "path", "depth", "born", "died", "head", "children", "tokens"],
  ...["attributes", "metadata", "text"],
];

/** A state that ends, with what its node carries over to a state that follows it. */
interface Ended extends NewState {
  readonly row: number;
  readonly children: number;
}

interface InboxRow {
  readonly revision: number;
  readonly result: string;
}

/** The answer of a step that was committed before. */
export function findInInbox(
  connection: Connection,
  memory: number,
  job: string,
  step: string,
): CommitResult | undefined {
  const row = connection.get<InboxRow>("SELECT revision, result FROM inbox WHERE memory = ? AND job = ? AND step = ?", [
    memory,
    job,
    step,
  ]);
  return row && { revision: row.revision, repeated: true, result: JSON.parse(row.result) as unknown };
}

/** @throws EspalierError `memory_not_found`, `revision_conflict`, `node_not_found`, `model_dimension` */
export function* commitChange(
  connection: Connection,
  scope: MemoryScope,
  change: ChangeSet,
): Generator<void, CommitResult, void> {
  const memory = findHead(connection, scope);
  const before = findInInbox(connection, memory.row, change.inbox.job, change.inbox.step);
  if (before !== undefined) return before;
  checkBase(connection, memory, change);
  const commit = new Commit(connection, memory, change);
  yield* commit.endStates();
  yield* commit.beginStates();
  return commit.finish();
}

/** The largest row of a state that there ever was. */
function lastStateRow(connection: Connection): number {
  const sql = "SELECT seq FROM sqlite_sequence WHERE name = 'states'";
  return connection.get<{ readonly seq: number }>(sql)?.seq ?? 0;
}

function checkBase(connection: Connection, memory: MemoryHead, change: ChangeSet): void {
  if (change.baseRevision !== memory.revision) {
    throw new EspalierError(
      "revision_conflict",
      `The change was made on revision ${change.baseRevision}, the memory is at ${memory.revision}.`,
      { details: { baseRevision: change.baseRevision, revision: memory.revision } },
    );
  }
  if (change.termFields === undefined) return;
  const covered = new Set(change.termFields);
  const field = indexedFields(connection, memory.row).find((one) => !covered.has(one));
  if (field !== undefined) {
    throw new EspalierError("revision_conflict", `The field ${field} was indexed after the change was made.`, {
      details: { field },
    });
  }
}

class Commit {
  readonly #schema = new SchemaDelta();
  readonly #vectors: VectorWriter;
  readonly #terms: TermWriter;
  readonly #revision: number;
  readonly #ended = new Map<string, Ended>();
  /** Change of the number of children per parent. */
  readonly #children = new Map<string | null, number>();
  readonly #types = new Map<string, string>();
  #nodes = 0;
  #tokens = 0;
  #bytes = 0;
  #texts = 0;
  #firstState = 1;
  #lastState = 0;

  constructor(
    private readonly connection: Connection,
    private readonly memory: MemoryHead,
    private readonly change: ChangeSet,
  ) {
    this.#revision = memory.revision + 1;
    this.#vectors = new VectorWriter(connection, memory.row);
    this.#terms = new TermWriter(connection, memory.row);
  }

  *endStates(): Generator<void, void, void> {
    const ends = [...new Set(this.change.ends)];
    for (let at = 0; at < ends.length; at += STATES_PER_TURN) {
      if (at > 0) yield;
      this.#end(ends.slice(at, at + STATES_PER_TURN));
    }
  }

  #end(ids: readonly string[]): void {
    const states = this.#readEnding(ids);
    this.#learnTypes(states.map(({ parentId }) => parentId));
    for (const state of states) this.#count(state, -1);
    const rows = states.map(({ row }) => row);
    this.connection.run("UPDATE states SET head = 0, died = ? WHERE row IN (SELECT value FROM json_each(?))", [
      this.#revision,
      JSON.stringify(rows),
    ]);
    countEndedVectors(this.connection, this.memory.row, rows);
    this.#terms.end(rows);
  }

  *beginStates(): Generator<void, void, void> {
    const { states } = this.change;
    for (const { id, type } of states) this.#types.set(id, type);
    this.#learnTypes(states.map(({ parentId }) => parentId));
    for (const state of states) this.#count(state, 1);
    this.#retype();
    const rows = yield* this.#writeStates();
    yield* this.#writeVectors(rows);
    yield* this.#writeTerms(rows);
  }

  finish(): CommitResult {
    const { connection, memory, change } = this;
    const revision = this.#revision;
    this.#countChildren();
    const changed = this.#schema.apply(connection, memory.row);
    connection.run(
      `UPDATE memories SET revision = ?, nodes = nodes + ?, tokens = tokens + ?, bytes = bytes + ?, texts = texts + ?,
         children = children + ?, schema_version = schema_version + ?, updated_at = ? WHERE row = ?`,
      [
        ...[revision, this.#nodes, this.#tokens, this.#bytes, this.#texts, this.#children.get(null) ?? 0],
        ...[changed ? 1 : 0, change.time, memory.row],
      ],
    );
    connection.run("INSERT INTO revisions VALUES (?, ?, ?, ?, ?, ?, ?)", [
      ...[memory.row, revision, change.author, change.message, change.time],
      ...[this.#firstState, this.#lastState],
    ]);
    const result = JSON.stringify(change.result ?? null);
    connection.run("DELETE FROM inbox WHERE memory = ? AND time < ?", [
      memory.row,
      change.time - RETENTION_SECONDS.inbox * 1_000,
    ]);
    connection.run("INSERT INTO inbox VALUES (?, ?, ?, ?, ?, ?)", [
      ...[memory.row, change.inbox.job, change.inbox.step, revision, result, change.time],
    ]);
    return { revision, repeated: false, result: JSON.parse(result) as unknown };
  }

  #readEnding(ids: readonly string[]): readonly Ended[] {
    const rows = this.connection.tuples<readonly [...StateTuple, row: number, children: number]>(
      `SELECT ${stateColumns("s")}, s.row, s.children FROM json_each(?) e
       CROSS JOIN states s INDEXED BY states_by_id ON s.memory = ? AND s.id = e.value AND s.head = 1`,
      [JSON.stringify(ids), this.memory.row],
    );
    const states = rows.map((tuple): Ended => {
      const [row, children] = tuple.slice(STATE_WIDTH) as unknown as readonly [number, number];
      return { ...stateOf(tuple as unknown as StateTuple), row, children };
    });
    for (const state of states) this.#ended.set(state.id, state);
    const missing = ids.find((id) => !this.#ended.has(id));
    if (missing !== undefined) {
      throw new EspalierError("node_not_found", `The change ends ${missing}, which is not live.`, {
        details: { node: missing },
      });
    }
    return states;
  }

  /** The types of parents that the change itself does not bring. */
  #learnTypes(parents: readonly (string | null)[]): void {
    const unknown = new Set(parents.filter((id) => id !== null && !this.#types.has(id)));
    if (unknown.size === 0) return;
    const rows = this.connection.all<{ readonly id: string; readonly type: string }>(
      `SELECT s.id, s.type FROM json_each(?) p
       CROSS JOIN states s INDEXED BY states_by_id ON s.memory = ? AND s.id = p.value AND s.head = 1`,
      [JSON.stringify([...unknown]), this.memory.row],
    );
    for (const { id, type } of rows) this.#types.set(id, type);
    for (const id of unknown) {
      const ended = id === null ? undefined : this.#ended.get(id);
      if (ended !== undefined && !this.#types.has(ended.id)) this.#types.set(ended.id, ended.type);
    }
  }

  #count(state: NewState, sign: 1 | -1): void {
    this.#nodes += sign;
    this.#tokens += sign * state.tokens;
    this.#bytes += sign * stateBytes(state);
    if (state.text !== "") this.#texts += sign;
    this.#children.set(state.parentId, (this.#children.get(state.parentId) ?? 0) + sign);
    this.#schema.count(state, sign);
    const parentType = state.parentId === null ? ROOT_TYPE : this.#types.get(state.parentId);
    if (parentType !== undefined) this.#schema.relate(parentType, state.type, sign);
  }

  /** A node that takes another type changes the relations of the children that stay. */
  #retype(): void {
    for (const { id, type } of this.change.states) {
      const ended = this.#ended.get(id);
      if (ended === undefined || ended.type === type) continue;
      const staying = this.connection.all<{ readonly type: string; readonly count: number }>(
        `SELECT type, count(*) AS count FROM states INDEXED BY states_by_depth_and_type
         WHERE memory = ? AND depth = ? AND parent = ? AND head = 1 GROUP BY type`,
        [this.memory.row, ended.depth + 1, id],
      );
      for (const child of staying) {
        this.#schema.relate(ended.type, child.type, -child.count);
        this.#schema.relate(type, child.type, child.count);
      }
    }
  }

  /** Answers the rows by node. They are numbered as the table would number them: one after the other, and never again. */
  *#writeStates(): Generator<void, ReadonlyMap<string, number>, void> {
    const { states } = this.change;
    const rows = new Map<string, number>();
    const writer = new RowWriter(this.connection, "states", STATE_COLUMNS);
    const last = lastStateRow(this.connection);
    for (const [index, state] of states.entries()) {
      if (index % STATES_PER_TURN === STATES_PER_TURN - 1) yield;
      rows.set(state.id, last + 1 + index);
      writer.add(last + 1 + index, ...this.#stateRow(state));
    }
    writer.finish();
    if (states.length > 0) [this.#firstState, this.#lastState] = [last + 1, last + states.length];
    return rows;
  }

  #stateRow(state: NewState): readonly SQLInputValue[] {
    const carried = this.#ended.get(state.id)?.children ?? 0;
    return [
      ...[this.memory.row, state.id, state.type, state.parentId, state.pathKey, state.depth, this.#revision, NEVER, 1],
      ...[carried, state.tokens, JSON.stringify(state.attributes), JSON.stringify(state.metadata), state.text],
    ];
  }

  *#writeVectors(rows: ReadonlyMap<string, number>): Generator<void, void, void> {
    for (const [index, point] of this.change.vectors.entries()) {
      if (index % STATES_PER_TURN === STATES_PER_TURN - 1) yield;
      const row = rows.get(point.id);
      if (row !== undefined) this.#vectors.add(point, row);
    }
    this.#vectors.finish();
  }

  *#writeTerms(rows: ReadonlyMap<string, number>): Generator<void, void, void> {
    if (this.change.terms.length > 0) {
      for (const field of indexedFields(this.connection, this.memory.row)) this.#terms.open(field);
    }
    for (const [index, { id, field, weights }] of this.change.terms.entries()) {
      if (index % STATES_PER_TURN === STATES_PER_TURN - 1) yield;
      const row = rows.get(id);
      if (row !== undefined) this.#terms.add(field, row, weights);
    }
    yield* this.#terms.finish();
  }

  #countChildren(): void {
    for (const [parent, count] of this.#children) {
      if (parent === null || count === 0) continue;
      this.connection.run("UPDATE states SET children = children + ? WHERE memory = ? AND id = ? AND head = 1", [
        ...[count, this.memory.row, parent],
      ]);
    }
  }
}
