import { join } from "node:path";
import { DatabaseSync, type StatementSync } from "node:sqlite";
import { openFiles } from "../engine/open-stores.js";
import { sqliteByHand } from "./sqlite-by-hand.js";
import { openSqliteCopies } from "./sqlite-copy.js";
import type { StoreEngine } from "./store-engine.js";

/**
 * Room for the vectors of 1,000,000 nodes, as whoever has such a memory would set it (`SQLITE_IMAGE_BYTES`): by hand they lie in
 * an array. The bound that is set unless something else is said would hold 300,000.
 */
const IMAGE_BYTES = 4 * 1024 ** 3;

/** SQLite stores in a new temporary folder; raw queries go to the same file. */
export async function openSqliteEngine(): Promise<StoreEngine> {
  const { stores, folder, remove } = await openFiles({ imageBytes: IMAGE_BYTES });
  const database = new DatabaseSync(join(folder, "espalier.db"));
  const copies = await openSqliteCopies(database);
  const statements = new Map<string, StatementSync>();
  const prepared = (sql: string): StatementSync => {
    const statement = statements.get(sql) ?? database.prepare(sql);
    statements.set(sql, statement);
    return statement;
  };
  return {
    name: "SQLite",
    tree: stores.tree,
    search: {
      vectors: stores.vectors,
      lexical: stores.lexical,
      settled: async () => true,
      byHand: async (tree, points) => sqliteByHand(database, tree, points),
    },
    raw: ({ memory }, { sql, parameters = {} }) => {
      const given: Record<string, string | number> = { memory };
      for (const [name, value] of Object.entries(parameters)) {
        given[name] = typeof value === "object" ? JSON.stringify(value) : value;
      }
      return Promise.resolve(prepared(sql).all(given).length);
    },
    beginCopy: copies.begin,
    close: async () => {
      await copies.close();
      database.close();
      await stores.close();
      await remove();
    },
  };
}
