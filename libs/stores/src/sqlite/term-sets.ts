import { EspalierError, NODE_FIELD } from "#core";
import type { Connection } from "./connection.js";

/** The index of one field of a memory. */
export interface TermSet {
  readonly id: number;
  readonly field: string;
  /** Live head states whose field is not empty. */
  readonly documents: number;
}

function termSets(connection: Connection, memory: number): readonly TermSet[] {
  return connection.all<TermSet>("SELECT id, field, documents FROM term_sets WHERE memory = ? ORDER BY field", [
    memory,
  ]);
}

export function findTermSet(connection: Connection, memory: number, field: string): TermSet | undefined {
  return connection.get<TermSet>("SELECT id, field, documents FROM term_sets WHERE memory = ? AND field = ?", [
    memory,
    field,
  ]);
}

/** The fields that are indexed: that of the nodes' texts always is. */
export function indexedFields(connection: Connection, memory: number): readonly string[] {
  return [...new Set([NODE_FIELD, ...termSets(connection, memory).map(({ field }) => field)])];
}

/** Writes the terms of one transaction: frequencies are added up and written once, by `finish`. */
export class TermWriter {
  readonly #sets = new Map<string, { readonly id: number; added: number }>();
  readonly #terms = new Map<string, { readonly id: number; added: number }>();

  constructor(
    private readonly connection: Connection,
    private readonly memory: number,
  ) {}

  /** Begins the index of a field, if it is not there. */
  open(field: string): void {
    this.connection.run(
      "INSERT INTO term_sets (memory, field, documents) VALUES (?, ?, 0) ON CONFLICT (memory, field) DO NOTHING",
      [this.memory, field],
    );
    const set = findTermSet(this.connection, this.memory, field);
    if (set !== undefined) this.#sets.set(field, { id: set.id, added: 0 });
  }

  /** Adds a document, live at the head; nothing if the field is not indexed. */
  add(field: string, state: number, weights: ReadonlyMap<string, number>): void {
    const set = this.#sets.get(field);
    if (set === undefined) return;
    const ids = new Uint32Array(weights.size);
    let at = 0;
    for (const [text, weight] of weights) {
      const term = this.#term(set.id, text);
      term.added += 1;
      this.connection.run("INSERT INTO postings (term, state, weight) VALUES (?, ?, ?)", [term.id, state, weight]);
      ids[at++] = term.id;
    }
    set.added += 1;
    this.connection.run("INSERT INTO documents (term_set, state, terms) VALUES (?, ?, ?)", [
      set.id,
      state,
      new Uint8Array(ids.buffer),
    ]);
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

  finish(): void {
    for (const { id, added } of this.#sets.values()) {
      if (added > 0) this.connection.run("UPDATE term_sets SET documents = documents + ? WHERE id = ?", [added, id]);
    }
    for (const { id, added } of this.#terms.values()) {
      this.connection.run("UPDATE terms SET frequency = frequency + ? WHERE id = ?", [added, id]);
    }
  }

  #term(set: number, text: string): { readonly id: number; added: number } {
    const key = `${set} ${text}`;
    const known = this.#terms.get(key);
    if (known !== undefined) return known;
    this.connection.run(
      "INSERT INTO terms (term_set, term, frequency) VALUES (?, ?, 0) ON CONFLICT (term_set, term) DO NOTHING",
      [set, text],
    );
    const row = this.connection.get<{ readonly id: number }>("SELECT id FROM terms WHERE term_set = ? AND term = ?", [
      set,
      text,
    ]);
    if (row === undefined) throw new EspalierError("internal", "A term that was just written is not there.");
    const term = { id: row.id, added: 0 };
    this.#terms.set(key, term);
    return term;
  }
}
