import type { SQLInputValue } from "node:sqlite";
import type { Connection } from "./connection.js";

/** Of a full statement: with more of them nothing is gained. */
const ROWS_PER_STATEMENT = 50;

/**
 * Inserts rows into one table, many by a statement: that takes half as long as a statement for each, and less where rows come
 * in the order of the key. A statement that fails need not undo its first rows (`OR FAIL`), since the transaction is undone
 * then: otherwise SQLite would keep a copy of each page before a statement of many rows changes it.
 */
export class RowWriter {
  readonly #one: string;
  readonly #many: string;
  readonly #width: number;
  #values: SQLInputValue[] = [];

  constructor(
    private readonly connection: Connection,
    table: string,
    columns: readonly string[],
  ) {
    const row = `(${columns.map(() => "?").join(", ")})`;
    this.#one = `INSERT OR FAIL INTO ${table} (${columns.join(", ")}) VALUES ${row}`;
    this.#many = this.#one + `, ${row}`.repeat(ROWS_PER_STATEMENT - 1);
    this.#width = columns.length;
  }

  /** Adds a row; it may not be there before `finish`. */
  add(...row: readonly SQLInputValue[]): void {
    this.#values.push(...row);
    if (this.#values.length < this.#width * ROWS_PER_STATEMENT) return;
    this.connection.run(this.#many, this.#values);
    this.#values = [];
  }

  /** Writes what is left. */
  finish(): void {
    for (let at = 0; at < this.#values.length; at += this.#width) {
      this.connection.run(this.#one, this.#values.slice(at, at + this.#width));
    }
    this.#values = [];
  }
}
