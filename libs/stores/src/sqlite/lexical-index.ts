import {
  type Attributes,
  fieldText,
  LIMITS,
  type MemoryScope,
  NODE_FIELD,
  type NodeFilter,
  roundRelevance,
} from "#core";
import type { LexicalIndex, LexicalRead } from "#memory";
import { type LexicalStatistics, type QueryTermWeights, type ScoredKey, type StateRef, termWeights } from "#scoring";
import { BestFirst } from "../best-first.js";
import { type Connection, limitTo } from "./connection.js";
import type { Database } from "./database.js";
import { filterCondition } from "./filter-conditions.js";
import { type MemoryImage, type MemoryImages, ordinalsOf } from "./image/memory-images.js";
import { findHead, livenessAt, type MemoryHead } from "./memories.js";
import type { Liveness } from "./states.js";
import { beginTermSet, findTermSet, indexedFields, moveTermSet, type TermSet, TermWriter } from "./term-sets.js";
import { refsOf, withKeys } from "./vector-store.js";

interface OpenTerms {
  readonly connection: Connection;
  readonly memory: MemoryHead;
  readonly liveness: Liveness;
  readonly set: TermSet | undefined;
}

/** Documents written before other work of the process has its turn. */
const DOCUMENTS_PER_TURN = 200;

/** Postings in SQLite: (term, state) -> weight, and frequencies as counters of the write's transaction. */
export class SqliteLexicalIndex implements LexicalIndex {
  constructor(
    private readonly database: Database,
    private readonly images: MemoryImages,
  ) {}

  indexed(scope: MemoryScope, field: string): Promise<boolean> {
    return this.database.read((connection) => {
      const { row } = findHead(connection, scope);
      return field === NODE_FIELD || findTermSet(connection, row, field) !== undefined;
    });
  }

  indexPage(scope: MemoryScope, field: string): Promise<boolean> {
    return this.database.write((connection) => indexPage(connection, scope, field));
  }

  fields(scope: MemoryScope): Promise<readonly string[]> {
    return this.database.read((connection) => indexedFields(connection, findHead(connection, scope).row));
  }

  statistics(
    scope: MemoryScope,
    { field }: Pick<LexicalRead, "field">,
    terms: readonly string[],
  ): Promise<LexicalStatistics> {
    return this.database.read((connection) => {
      const set = findTermSet(connection, findHead(connection, scope).row, field);
      if (set === undefined) return { documents: 0, frequencies: new Map() };
      const rows = connection.tuples<readonly [term: string, frequency: number]>(
        `SELECT t.term, t.frequency FROM json_each(?) q CROSS JOIN terms t ON t.term_set = ? AND t.term = q.value
         WHERE t.frequency > 0`,
        [JSON.stringify(terms), set.id],
      );
      return { documents: set.documents, frequencies: new Map(rows) };
    });
  }

  scores(
    scope: MemoryScope,
    read: { readonly revision: number; readonly field: string },
    terms: QueryTermWeights,
    states: readonly StateRef[],
  ): Promise<Float64Array> {
    return this.#open(scope, read, (open) => {
      const found = this.#image(
        open,
        () => states.length * terms.size,
        (image, termSet) => {
          const ordinals = ordinalsOf(image, states);
          return ordinals && image.postings.scores(open.connection, termSet, terms, ordinals);
        },
      );
      return found ?? scoresByStatement(open, terms, states);
    });
  }

  matches(
    scope: MemoryScope,
    read: { readonly revision: number; readonly field: string },
    terms: QueryTermWeights,
    filter: NodeFilter,
    options: { readonly above: number; readonly limit?: number },
  ): Promise<readonly ScoredKey[]> {
    return this.#open(scope, read, (open) => {
      const found = this.#image(
        open,
        () => postingsOf(open, terms),
        ({ keys, postings }, termSet) => {
          const selection = keys.select(filter, read.revision);
          return postings
            .matches(open.connection, { termSet, terms, selection }, options)
            .map(({ ordinal, value }) => ({ key: keys.key(ordinal), value }));
        },
      );
      return found ?? matchesByStatement(open, terms, filter, options);
    });
  }

  #image<T>(
    { connection, memory, liveness, set }: OpenTerms,
    states: () => number,
    use: (image: MemoryImage, termSet: number) => T | undefined,
  ): T | undefined {
    if (set === undefined) return undefined;
    const size = { revision: liveness.revision, states };
    return this.images.open(connection, memory, size, (image) => use(image, set.id));
  }

  #open<T>(
    scope: MemoryScope,
    read: { readonly revision: number; readonly field: string },
    work: (open: OpenTerms) => T,
  ): Promise<T> {
    return this.database.read((connection) => {
      const memory = findHead(connection, scope);
      const set = findTermSet(connection, memory.row, read.field);
      return work({ connection, memory, liveness: livenessAt(memory, read.revision), set });
    });
  }
}

/** The next live states of a field, by path. What a commit wrote since the index was begun is there already. */
function* indexPage(connection: Connection, scope: MemoryScope, field: string): Generator<void, boolean, void> {
  const memory = findHead(connection, scope).row;
  if (field === NODE_FIELD) return true;
  const set = beginTermSet(connection, memory, field);
  if (set === undefined || set.indexedTo === null) return true;
  const rows = connection.tuples<readonly [row: number, path: string, attributes: string]>(
    `SELECT s.row, s.path, s.attributes FROM states s INDEXED BY states_by_path
     WHERE s.memory = ? AND s.head = 1 AND s.path > ?
       AND NOT EXISTS (SELECT 1 FROM documents d WHERE d.term_set = ? AND d.state = s.row)
     ORDER BY s.path ${limitTo("?")}`,
    [memory, set.indexedTo, set.id, LIMITS.maintenancePageNodes],
  );
  const writer = new TermWriter(connection, memory);
  writer.open(field);
  for (const [position, [row, , attributes]] of rows.entries()) {
    if (position % DOCUMENTS_PER_TURN === DOCUMENTS_PER_TURN - 1) yield;
    const text = fieldText({ text: "", attributes: JSON.parse(attributes) as Attributes }, field) ?? "";
    if (text !== "") writer.add(field, row, termWeights(text));
  }
  yield* writer.finish();
  const next = rows.length < LIMITS.maintenancePageNodes ? null : (rows.at(-1)?.[1] ?? null);
  moveTermSet(connection, set.id, next);
  return next === null;
}

/** Postings of the terms, over the live states. */
function postingsOf({ connection, set }: OpenTerms, terms: QueryTermWeights): number {
  const sql = `SELECT sum(t.frequency) AS postings FROM json_each(?) q
    CROSS JOIN terms t ON t.term_set = ? AND t.term = q.value`;
  const parameters = [JSON.stringify([...terms.keys()]), set?.id ?? 0];
  return connection.get<{ readonly postings: number | null }>(sql, parameters)?.postings ?? 0;
}

/** Sums follow the order of the query's terms in every way of computing them, so that equal values are equal. */
function scoresByStatement(
  { connection, memory, set }: OpenTerms,
  terms: QueryTermWeights,
  states: readonly StateRef[],
): Float64Array {
  const values = new Float64Array(states.length);
  if (set === undefined || states.length === 0) return values;
  const rows = connection.tuples<readonly [index: number, factor: number, weight: number]>(
    `SELECT i.key, q.value ->> 1, p.weight FROM json_each(:terms) q
     CROSS JOIN terms t ON t.term_set = :set AND t.term = q.value ->> 0
     CROSS JOIN json_each(:states) i
     CROSS JOIN states s INDEXED BY states_by_id ON s.memory = :memory AND s.id = i.value ->> 0 AND s.born = i.value ->> 1
     CROSS JOIN postings p ON p.term = t.id AND p.state = s.row`,
    { memory: memory.row, set: set.id, terms: JSON.stringify([...terms]), states: refsOf(states) },
  );
  for (const [index, factor, weight] of rows) values[index] = (values[index] ?? 0) + factor * weight;
  return values;
}

function matchesByStatement(
  { connection, liveness, set }: OpenTerms,
  terms: QueryTermWeights,
  filter: NodeFilter,
  { above, limit }: { readonly above: number; readonly limit?: number },
): readonly ScoredKey[] {
  if (set === undefined) return [];
  const condition = filterCondition(filter, liveness);
  const rows = connection.iterate<readonly [row: number, path: string, factor: number, weight: number]>(
    `SELECT s.row, s.path, q.value ->> 1, p.weight FROM json_each(:terms) q
     CROSS JOIN terms t ON t.term_set = :set AND t.term = q.value ->> 0
     CROSS JOIN postings p ON p.term = t.id
     CROSS JOIN states s ON s.row = p.state WHERE ${condition.sql}`,
    { ...condition.parameters, set: set.id, terms: JSON.stringify([...terms]) },
  );
  const sums = new Map<number, { readonly path: string; sum: number }>();
  for (const [row, path, factor, weight] of rows) {
    const known = sums.get(row);
    if (known === undefined) sums.set(row, { path, sum: factor * weight });
    else known.sum += factor * weight;
  }
  const best = new BestFirst<{ readonly row: number; readonly path: string; readonly value: number }>(
    limit ?? sums.size,
  );
  for (const [row, { path, sum }] of sums) {
    const value = roundRelevance(sum);
    if (value > above) best.offer({ row, path, value });
  }
  return withKeys(connection, best.ranked());
}
