import { join } from "node:path";
import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite";
import { openFiles } from "../engine/open-stores.js";
import { millisecondsOf } from "../metrics/milliseconds-of.js";
import { type BeginCopy, checkCounts } from "./copy-by-hand.js";

type Row = readonly SQLInputValue[];

/** Tables that only grow while a memory does, by the column that says what is new: in the order in which the store writes. */
const GROWING: Readonly<Record<string, string>> = {
  states: "row",
  vectors: "sequence",
  postings: "state",
  documents: "state",
};
/** Parents that were there before and have more children now. */
const PARENTS = `SELECT DISTINCT p.children, p.row FROM states s CROSS JOIN states p ON p.memory = s.memory AND p.id = s.parent
  AND p.head = 1 WHERE s.row > :after AND p.row <= :after`;
const TABLES = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name";
/** Whoever fills a journal waits until it is written back: both begin with an empty one, else it would be the same one each time. */
const EMPTY_JOURNAL = "PRAGMA wal_checkpoint(TRUNCATE)";
/** As the store's connection. */
const SETTINGS = "PRAGMA synchronous = full; PRAGMA cache_size = -65536; PRAGMA journal_size_limit = 67108864";

/**
 * Opens a second file, into which what a store writes into the first is copied: each call is one transaction. The copy of a
 * memory is removed as the memory is, so that both files have been through the same.
 */
export async function openSqliteCopies(
  source: DatabaseSync,
): Promise<{ readonly begin: BeginCopy; close(): Promise<void> }> {
  const { stores, folder, remove } = await openFiles();
  const database = new DatabaseSync(join(folder, "espalier.db"));
  database.exec(SETTINGS);
  return {
    begin: async (scope) => {
      for (const one of [source, database]) one.exec(EMPTY_JOURNAL);
      const copy = new SqliteCopy(source, database);
      return {
        writeChange: () => copy.write(),
        writePoints: () => copy.write(),
        check: async () => {
          checkCounts(countsOf(source), countsOf(database));
        },
        remove: async () => {
          await stores.tree.deleteMemory(scope);
        },
      };
    },
    close: async () => {
      database.close();
      await stores.close();
      await remove();
    },
  };
}

class SqliteCopy {
  readonly #tables: readonly string[];
  readonly #statements = new Map<string, StatementSync>();
  /** The largest value of each growing table's column that was copied. */
  readonly #copied = new Map<string, SQLInputValue>();
  /** Rows of the other tables as they were copied. */
  readonly #known = new Set<string>();

  constructor(
    private readonly source: DatabaseSync,
    private readonly database: DatabaseSync,
  ) {
    this.#tables = tablesOf(source);
  }

  /** Writes what is new in the source; milliseconds. */
  write(): Promise<number> {
    const writes = [...this.#parents(), ...this.#growing(), ...this.#changed()];
    return millisecondsOf(() => {
      this.database.exec("BEGIN IMMEDIATE");
      for (const { statement, rows } of writes) for (const row of rows) statement.run(...row);
      this.database.exec("COMMIT");
    });
  }

  #parents(): readonly { readonly statement: StatementSync; readonly rows: readonly Row[] }[] {
    const after = this.#copied.get("states") ?? 0;
    const statement = this.#prepared("UPDATE states SET children = ? WHERE row = ?");
    return [{ statement, rows: this.#read(PARENTS, { after }) }];
  }

  #growing(): readonly { readonly statement: StatementSync; readonly rows: readonly Row[] }[] {
    return Object.entries(GROWING).map(([table, column]) => {
      const after = this.#copied.get(table) ?? 0;
      const rows = this.#read(`SELECT * FROM ${table} WHERE ${column} > :after ORDER BY ${column}`, { after });
      const [[last] = []] = this.#read(`SELECT max(${column}) FROM ${table}`, {});
      this.#copied.set(table, last ?? 0);
      return { statement: this.#prepared(`INSERT INTO ${table} VALUES (${this.#places(table)})`), rows };
    });
  }

  #changed(): readonly { readonly statement: StatementSync; readonly rows: readonly Row[] }[] {
    const others = this.#tables.filter((table) => GROWING[table] === undefined);
    return others.map((table) => {
      const rows = this.#read(`SELECT * FROM ${table}`, {}).filter((row) => {
        const key = JSON.stringify([table, row]);
        const isNew = !this.#known.has(key);
        this.#known.add(key);
        return isNew;
      });
      const updates = this.#columns(table).map((column) => `${column} = excluded.${column}`);
      const statement = this.#prepared(
        `INSERT INTO ${table} VALUES (${this.#places(table)}) ON CONFLICT DO UPDATE SET ${updates.join(", ")}`,
      );
      return { statement, rows };
    });
  }

  #read(sql: string, parameters: Readonly<Record<string, SQLInputValue>>): readonly Row[] {
    const statement = this.source.prepare(sql);
    statement.setReturnArrays(true);
    return statement.all(parameters) as unknown as readonly Row[];
  }

  #columns(table: string): readonly string[] {
    return this.#read(`SELECT name FROM pragma_table_info('${table}')`, {}).map(([name]) => name as string);
  }

  #places(table: string): string {
    return this.#columns(table)
      .map(() => "?")
      .join(", ");
  }

  #prepared(sql: string): StatementSync {
    const statement = this.#statements.get(sql) ?? this.database.prepare(sql);
    this.#statements.set(sql, statement);
    return statement;
  }
}

const tablesOf = (database: DatabaseSync): readonly string[] =>
  database
    .prepare(TABLES)
    .all()
    .map(({ name }) => name as string);

function countsOf(database: DatabaseSync): ReadonlyMap<string, number> {
  const count = (table: string): number =>
    Number(database.prepare(`SELECT count(*) AS count FROM ${table}`).get()?.["count"]);
  return new Map(tablesOf(database).map((table) => [table, count(table)]));
}
