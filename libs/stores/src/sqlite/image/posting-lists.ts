import { roundRelevance } from "#core";
import type { QueryTermWeights } from "#scoring";
import { BestFirst } from "../../best-first.js";
import type { Connection } from "../connection.js";
import { firstPosition, Growing } from "./growing.js";
import type { KeyTable, Selection } from "./key-table.js";
import type { FoundState } from "./vector-matrix.js";

/** The states of one term, in the order of their rows, with their weights. */
interface PostingList {
  readonly ordinals: Growing<Int32Array>;
  readonly weights: Growing<Float64Array>;
  /** The last row that was read. */
  lastRow: number;
}

/** A term of a query with its list. */
interface WeighedList {
  readonly list: PostingList;
  readonly factor: number;
}

/** Looking a state up in a list costs about as much as passing over so many postings. */
const LOOKUP_POSTINGS = 16;

/** The postings of the terms that queries asked for, of all fields of a memory. */
export class PostingLists {
  readonly #lists = new Map<number, PostingList>();
  /** Sums of one query by ordinal, and the query to which they belong. */
  #sums = new Float64Array();
  #queries = new Int32Array();
  #query = 0;
  #listBytes = 0;

  constructor(private readonly keys: KeyTable) {}

  get bytes(): number {
    return this.#listBytes + this.#sums.byteLength + this.#queries.byteLength;
  }

  /** The value per ordinal: its weights times the factors, added in the order of the query's terms. */
  scores(connection: Connection, termSet: number, terms: QueryTermWeights, ordinals: Int32Array): Float64Array {
    const lists = this.#open(connection, termSet, terms);
    const postings = lists.reduce((sum, { list }) => sum + list.ordinals.length, 0);
    if (postings < ordinals.length * lists.length * LOOKUP_POSTINGS) {
      this.#add(lists);
      return Float64Array.from(ordinals, (ordinal) => this.#sum(ordinal));
    }
    return Float64Array.from(ordinals, (ordinal) =>
      lists.reduce((sum, { list, factor }) => sum + factor * weightIn(list, ordinal), 0),
    );
  }

  /** The states of a selection with a value over `above`. O(postings of the terms). */
  matches(
    connection: Connection,
    of: { readonly termSet: number; readonly terms: QueryTermWeights; readonly selection: Selection },
    { above, limit }: { readonly above: number; readonly limit?: number },
  ): readonly FoundState[] {
    const touched = this.#add(this.#open(connection, of.termSet, of.terms));
    const best = new BestFirst<FoundState>(limit ?? touched.length);
    for (const ordinal of touched) {
      const value = roundRelevance(this.#sum(ordinal));
      if (value <= above || value < best.threshold || !of.selection.includes(ordinal)) continue;
      best.offer({ ordinal, value, path: this.keys.path(ordinal) });
    }
    return best.ranked();
  }

  /** The lists of the terms that occur, up to date. */
  #open(connection: Connection, termSet: number, terms: QueryTermWeights): readonly WeighedList[] {
    const rows = connection.tuples<readonly [factor: number, term: number]>(
      `SELECT q.value ->> 1, t.id FROM json_each(?) q CROSS JOIN terms t ON t.term_set = ? AND t.term = q.value ->> 0`,
      [JSON.stringify([...terms]), termSet],
    );
    return rows.map(([factor, term]) => ({ factor, list: this.#read(connection, term) }));
  }

  #read(connection: Connection, term: number): PostingList {
    const list = this.#lists.get(term) ?? {
      ordinals: new Growing((capacity) => new Int32Array(capacity), 0),
      weights: new Growing((capacity) => new Float64Array(capacity), 0),
      lastRow: 0,
    };
    this.#lists.set(term, list);
    this.#listBytes -= bytesOf(list);
    const rows = connection.iterate<readonly [state: number, weight: number]>(
      "SELECT state, weight FROM postings WHERE term = ? AND state > ?",
      [term, list.lastRow],
    );
    for (const [state, weight] of rows) {
      list.lastRow = state;
      const ordinal = this.keys.ordinalOf(state);
      if (ordinal === undefined) continue;
      list.ordinals.push(ordinal);
      list.weights.push(weight);
    }
    this.#listBytes += bytesOf(list);
    return list;
  }

  /** Adds up all postings; answers the ordinals that have a sum. */
  #add(lists: readonly WeighedList[]): Int32Array {
    if (this.#sums.length < this.keys.length) {
      this.#sums = new Float64Array(this.keys.length);
      this.#queries = new Int32Array(this.keys.length);
    }
    this.#query += 1;
    const touched = new Int32Array(lists.reduce((sum, { list }) => sum + list.ordinals.length, 0));
    let count = 0;
    for (const { list, factor } of lists) {
      const [ordinals, weights] = [list.ordinals.values, list.weights.values];
      for (let at = 0; at < list.ordinals.length; at += 1) {
        const ordinal = ordinals[at] ?? 0;
        const isFirst = this.#queries[ordinal] !== this.#query;
        if (isFirst) {
          this.#queries[ordinal] = this.#query;
          touched[count] = ordinal;
          count += 1;
        }
        this.#sums[ordinal] = (isFirst ? 0 : (this.#sums[ordinal] ?? 0)) + factor * (weights[at] ?? 0);
      }
    }
    return touched.subarray(0, count);
  }

  #sum(ordinal: number): number {
    return this.#queries[ordinal] === this.#query ? (this.#sums[ordinal] ?? 0) : 0;
  }
}

function bytesOf({ ordinals, weights }: PostingList): number {
  return ordinals.bytes + weights.bytes;
}

function weightIn({ ordinals, weights }: PostingList, ordinal: number): number {
  const values = ordinals.values;
  const position = firstPosition(ordinals.length, (at) => (values[at] ?? 0) >= ordinal);
  return position < ordinals.length && values[position] === ordinal ? (weights.values[position] ?? 0) : 0;
}
