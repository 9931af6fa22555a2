import { NODE_FIELD } from "#core";
import type { Connection } from "./connection.js";
import { RowWriter } from "./row-writer.js";

/** The index of one field of a memory. */
export interface TermSet {
  readonly id: number;
  readonly field: string;
  /** Live head states whose field is not empty. */
  readonly documents: number;
}

/** A set with the path of the last node that it has; null: it has them all. */
type BegunTermSet = TermSet & { readonly indexedTo: string | null };

function termSets(connection: Connection, memory: number): readonly TermSet[] {
  return connection.all<TermSet>("SELECT id, field, documents FROM term_sets WHERE memory = ? ORDER BY field", [
    memory,
  ]);
}

/** The index of a field, if it is whole. */
export function findTermSet(connection: Connection, memory: number, field: string): TermSet | undefined {
  const set = findBegun(connection, memory, field);
  return set?.indexedTo === null ? set : undefined;
}

function findBegun(connection: Connection, memory: number, field: string): BegunTermSet | undefined {
  return connection.get<BegunTermSet>(
    "SELECT id, field, documents, indexed_to AS indexedTo FROM term_sets WHERE memory = ? AND field = ?",
    [memory, field],
  );
}

/** The index of a field, whole or not. */
export function beginTermSet(connection: Connection, memory: number, field: string): BegunTermSet | undefined {
  connection.run(
    "INSERT INTO term_sets (memory, field, documents, indexed_to) VALUES (?, ?, 0, '') ON CONFLICT (memory, field) DO NOTHING",
    [memory, field],
  );
  return findBegun(connection, memory, field);
}

/** How far the index of a field has come. */
export function moveTermSet(connection: Connection, id: number, indexedTo: string | null): void {
  connection.run("UPDATE term_sets SET indexed_to = ? WHERE id = ?", [indexedTo, id]);
}

/** The fields whose index was begun: that of the nodes' texts always is. */
export function indexedFields(connection: Connection, memory: number): readonly string[] {
  return [...new Set([NODE_FIELD, ...termSets(connection, memory).map(({ field }) => field)])];
}

/** Terms and documents written before other work of the process has its turn, and postings: some milliseconds. */
const TERMS_PER_TURN = 500;
const DOCUMENTS_PER_TURN = 500;
const POSTINGS_PER_TURN = 5_000;

/** A term of the documents that are added, with its postings. */
interface AddedTerm {
  readonly text: string;
  /** Known once the term is written. */
  id: number;
  readonly states: number[];
  readonly weights: number[];
}

/** What is added to a set. */
interface OpenSet {
  readonly id: number;
  readonly terms: Map<string, AddedTerm>;
  readonly documents: { readonly state: number; readonly terms: readonly AddedTerm[] }[];
}

/**
 * Writes the terms of one transaction. They are collected by term and written by `finish`: each term once, and postings in the
 * order of their table.
 */
export class TermWriter {
  readonly #sets = new Map<string, OpenSet>();

  constructor(
    private readonly connection: Connection,
    private readonly memory: number,
  ) {}

  /** Opens the index of a field; one that is not there has all documents there are, none. */
  open(field: string): void {
    this.connection.run(
      "INSERT INTO term_sets (memory, field, documents) VALUES (?, ?, 0) ON CONFLICT (memory, field) DO NOTHING",
      [this.memory, field],
    );
    const set = findBegun(this.connection, this.memory, field);
    if (set !== undefined) this.#sets.set(field, { id: set.id, terms: new Map(), documents: [] });
  }

  /** Adds a document, live at the head; nothing if the field is not indexed. */
  add(field: string, state: number, weights: ReadonlyMap<string, number>): void {
    const set = this.#sets.get(field);
    if (set === undefined) return;
    const terms: AddedTerm[] = [];
    for (const [text, weight] of weights) {
      const term = termOf(set, text);
      term.states.push(state);
      term.weights.push(weight);
      terms.push(term);
    }
    set.documents.push({ state, terms });
  }

  /** Counts out the documents of states that end. */
  end(states: readonly number[]): void {
    const rows = this.connection.all<{ readonly term_set: number; readonly terms: Uint8Array }>(
      `SELECT d.term_set, d.terms FROM json_each(?) s CROSS JOIN term_sets t ON t.memory = ?
       CROSS JOIN documents d ON d.term_set = t.id AND d.state = s.value`,
      [JSON.stringify(states), this.memory],
    );
    const ended = new Map<number, number>();
    for (const { term_set, terms } of rows) {
      this.connection.run("UPDATE term_sets SET documents = documents - 1 WHERE id = ?", [term_set]);
      for (const id of new Uint32Array(terms.slice().buffer)) ended.set(id, (ended.get(id) ?? 0) + 1);
    }
    for (const [id, count] of ended) {
      this.connection.run("UPDATE terms SET frequency = frequency - ? WHERE id = ?", [count, id]);
    }
  }

  *finish(): Generator<void, void, void> {
    for (const set of this.#sets.values()) {
      if (set.documents.length === 0) continue;
      yield* this.#writeTerms(set);
      yield* this.#writePostings(set);
      yield* this.#writeDocuments(set);
    }
  }

  *#writeTerms(set: OpenSet): Generator<void, void, void> {
    const terms = [...set.terms.values()];
    for (let at = 0; at < terms.length; at += TERMS_PER_TURN) {
      this.#writePage(set.id, terms.slice(at, at + TERMS_PER_TURN));
      yield;
    }
  }

  /** Raises the frequencies of the terms that are there, and adds the others. */
  #writePage(set: number, terms: readonly AddedTerm[]): void {
    const rows = this.connection.tuples<readonly [index: number, id: number]>(
      "SELECT a.key, t.id FROM json_each(?) a CROSS JOIN terms t ON t.term_set = ? AND t.term = a.value",
      [JSON.stringify(terms.map(({ text }) => text)), set],
    );
    const known = new Map(rows);
    for (const [index, term] of terms.entries()) {
      const id = known.get(index);
      term.id = id ?? this.#insert(set, term);
      if (id !== undefined) this.#raise(id, term.states.length);
    }
  }

  #raise(id: number, count: number): void {
    this.connection.run("UPDATE terms SET frequency = frequency + ? WHERE id = ?", [count, id]);
  }

  #insert(set: number, { text, states }: AddedTerm): number {
    const sql = "INSERT INTO terms (term_set, term, frequency) VALUES (?, ?, ?)";
    return this.connection.run(sql, [set, text, states.length]).row;
  }

  *#writePostings({ terms }: OpenSet): Generator<void, void, void> {
    const rows = new RowWriter(this.connection, "postings", ["term", "state", "weight"]);
    let count = 0;
    for (const { id, states, weights } of [...terms.values()].sort((one, other) => one.id - other.id)) {
      for (let index = 0; index < states.length; index += 1) {
        rows.add(id, states[index] ?? 0, weights[index] ?? 0);
        count += 1;
        if (count % POSTINGS_PER_TURN === 0) yield;
      }
    }
    rows.finish();
  }

  *#writeDocuments({ id, documents }: OpenSet): Generator<void, void, void> {
    const rows = new RowWriter(this.connection, "documents", ["term_set", "state", "terms"]);
    for (const [index, { state, terms }] of documents.entries()) {
      if (index % DOCUMENTS_PER_TURN === DOCUMENTS_PER_TURN - 1) yield;
      rows.add(id, state, new Uint8Array(new Uint32Array(terms.map((term) => term.id)).buffer));
    }
    rows.finish();
    this.connection.run("UPDATE term_sets SET documents = documents + ? WHERE id = ?", [documents.length, id]);
  }
}

function termOf({ terms }: OpenSet, text: string): AddedTerm {
  const known = terms.get(text);
  if (known !== undefined) return known;
  const term: AddedTerm = { text, id: 0, states: [], weights: [] };
  terms.set(text, term);
  return term;
}
