/* eslint-disable @typescript-eslint/no-unnecessary-type-parameters -- a caller names the rows that its statement has */
import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";
import { LRUCache } from "lru-cache";
import { LIMITS } from "#core";

/** Values of named or positional parameters. */
export type Parameters = Readonly<Record<string, SQLInputValue>> | readonly SQLInputValue[];

/** A connection whose statements are prepared once. Statements never contain values, so that their number stays small. */
export class Connection {
  /** Those that give their rows as objects, and as arrays. */
  readonly #objects = new LRUCache<string, StatementSync>({ max: LIMITS.preparedStatements });
  readonly #arrays = new LRUCache<string, StatementSync>({ max: LIMITS.preparedStatements });

  constructor(readonly database: DatabaseSync) {}

  /** All rows, as objects. The caller names the shape that the statement has. */
  all<Row>(sql: string, parameters: Parameters = []): readonly Row[] {
    const statement = this.#prepare(sql, false);
    const rows = isPositional(parameters) ? statement.all(...parameters) : statement.all(parameters);
    return rows as unknown as readonly Row[];
  }

  /** All rows, as arrays in the columns' order: cheaper than objects for thousands of rows. */
  tuples<Row extends readonly unknown[]>(sql: string, parameters: Parameters = []): readonly Row[] {
    const statement = this.#prepare(sql, true);
    const rows = isPositional(parameters) ? statement.all(...parameters) : statement.all(parameters);
    return rows as unknown as readonly Row[];
  }

  /** Rows one by one, as arrays: for reads that stop early or are too large to hold. No write may come between. */
  *iterate<Row extends readonly unknown[]>(sql: string, parameters: Parameters = []): Generator<Row, void> {
    const statement = this.#prepare(sql, true);
    const rows = isPositional(parameters) ? statement.iterate(...parameters) : statement.iterate(parameters);
    for (const row of rows) yield row as unknown as Row;
  }

  get<Row>(sql: string, parameters: Parameters = []): Row | undefined {
    const statement = this.#prepare(sql, false);
    const row = isPositional(parameters) ? statement.get(...parameters) : statement.get(parameters);
    return row as unknown as Row | undefined;
  }

  /** Answers the number of changed rows and the last row id. */
  run(sql: string, parameters: Parameters = []): { readonly changes: number; readonly row: number } {
    const statement = this.#prepare(sql, false);
    const done = isPositional(parameters) ? statement.run(...parameters) : statement.run(parameters);
    return { changes: Number(done.changes), row: Number(done.lastInsertRowid) };
  }

  /** A statement without parameters and rows. */
  execute(sql: string): void {
    this.database.exec(sql);
  }

  #prepare(sql: string, arrays: boolean): StatementSync {
    const statements = arrays ? this.#arrays : this.#objects;
    const known = statements.get(sql);
    if (known !== undefined) return known;
    const statement = this.database.prepare(sql);
    statement.setReturnArrays(arrays);
    statements.set(sql, statement);
    return statement;
  }
}

/**
 * `LIMIT` of a bound number. SQLite looks at a bare parameter there when it plans, and so plans the statement anew whenever a
 * value is bound, which takes longer than to read some ten rows; an expression is looked at when the statement runs.
 */
export const limitTo = (parameter: string): string => `LIMIT +${parameter}`;

function isPositional(parameters: Parameters): parameters is readonly SQLInputValue[] {
  return Array.isArray(parameters);
}
