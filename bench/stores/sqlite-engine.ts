import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync, type StatementSync } from "node:sqlite";
import { openStores } from "#stores";
import type { TreeEngine } from "./tree-engine.js";

/** SQLite stores in a new temporary folder; raw queries go to the same file. */
export async function openSqliteEngine(): Promise<TreeEngine> {
  const folder = await mkdtemp(join(tmpdir(), "espalier-stores-"));
  const stores = openStores({ folder });
  const database = new DatabaseSync(join(folder, "espalier.db"), { readOnly: true });
  const statements = new Map<string, StatementSync>();
  const prepared = (sql: string): StatementSync => {
    const statement = statements.get(sql) ?? database.prepare(sql);
    statements.set(sql, statement);
    return statement;
  };
  return {
    name: "SQLite",
    tree: stores.tree,
    raw: ({ memory }, { sql, parameters = {} }) => {
      const given: Record<string, string | number> = { memory };
      for (const [name, value] of Object.entries(parameters)) {
        given[name] = typeof value === "object" ? JSON.stringify(value) : value;
      }
      return Promise.resolve(prepared(sql).all(given).length);
    },
    close: async () => {
      database.close();
      await stores.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
