import type { MemoryScope } from "#core";
import type { DeletionCounts } from "#memory";
import { type Connection, limitTo } from "./connection.js";
import { findHead } from "./memories.js";

/** Rows, or terms with their postings, removed before other work of the process has its turn: some milliseconds. */
const ROWS_PER_TURN = 500;
const TERMS_PER_TURN = 50;

const TERM_SETS = "(SELECT id FROM term_sets WHERE memory = :memory)";

/** Where the rows of a memory lie in the large tables, a bounded number of them at a time. */
const LARGE = {
  vectors: `DELETE FROM vectors WHERE sequence IN (SELECT v.sequence FROM vector_sets s
    CROSS JOIN vectors v INDEXED BY vectors_by_sequence ON v.vector_set = s.id WHERE s.memory = :memory LIMIT :limit)`,
  documents: `DELETE FROM documents WHERE (term_set, state) IN (SELECT d.term_set, d.state FROM term_sets s
    CROSS JOIN documents d ON d.term_set = s.id WHERE s.memory = :memory LIMIT :limit)`,
  states: `DELETE FROM states WHERE row IN
    (SELECT row FROM states INDEXED BY states_by_history WHERE memory = :memory LIMIT :limit)`,
};

/**
 * Removes every row of a memory, in one transaction that yields between bounded parts; its row id is never used again.
 * @throws EspalierError `memory_not_found`
 */
export function* deleteMemory(connection: Connection, scope: MemoryScope): Generator<void, DeletionCounts, void> {
  const { row: memory } = findHead(connection, scope);
  const remove = (table: string, condition = "memory = :memory"): number =>
    connection.run(`DELETE FROM ${table} WHERE ${condition}`, { memory }).changes;
  const counts = {
    vectors: yield* removeInTurns(connection, LARGE.vectors, { memory }),
    terms: yield* removePostings(connection, memory),
    nodes: yield* removeInTurns(connection, LARGE.states, { memory }),
    revisions: remove("revisions"),
    inbox: remove("inbox"),
    blobs: connection.run("DELETE FROM blobs WHERE tenant = ? AND memory = ?", [scope.tenant, scope.memory]).changes,
  };
  yield* removeInTurns(connection, LARGE.documents, { memory });
  remove("terms", `term_set IN ${TERM_SETS}`);
  for (const table of ["vector_sets", "term_sets", "schema_types", "schema_names", "schema_relations", "labels"]) {
    remove(table);
  }
  remove("memories", "row = :memory");
  return counts;
}

/** Runs a deletion of at most `:limit` rows until there is nothing left of them. */
export function* removeInTurns(
  connection: Connection,
  sql: string,
  parameters: Readonly<Record<string, number>>,
): Generator<void, number, void> {
  let removed = 0;
  for (;;) {
    const { changes } = connection.run(sql, { ...parameters, limit: ROWS_PER_TURN });
    removed += changes;
    if (changes < ROWS_PER_TURN) return removed;
    yield;
  }
}

/** Field by field, and term by term: a term's postings lie together. */
function* removePostings(connection: Connection, memory: number): Generator<void, number, void> {
  let removed = 0;
  const sets = connection.tuples<readonly [id: number]>("SELECT id FROM term_sets WHERE memory = ?", [memory]);
  for (const [set] of sets) removed += yield* removePostingsOf(connection, set);
  return removed;
}

/** Terms in the order of their index: by their ids those of all memories would be gone through. */
function* removePostingsOf(connection: Connection, set: number): Generator<void, number, void> {
  let removed = 0;
  let last = "";
  for (;;) {
    const terms = connection.tuples<readonly [id: number, term: string]>(
      `SELECT id, term FROM terms WHERE term_set = :set AND term > :last ORDER BY term ${limitTo(":limit")}`,
      { set, last, limit: TERMS_PER_TURN },
    );
    for (const [id, term] of terms) {
      removed += connection.run("DELETE FROM postings WHERE term = ?", [id]).changes;
      last = term;
    }
    if (terms.length < TERMS_PER_TURN) return removed;
    yield;
  }
}
