import { existsSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

/**
 * Numbers in the vectors that a data folder holds under a model's id; undefined if there are none, or no database.
 * @throws Error of SQLite if the file is no database
 */
export function readDimension(folder: string, model: string): number | undefined {
  const path = join(folder, "espalier.db");
  if (!existsSync(path)) return undefined;
  const database = new DatabaseSync(path, { readOnly: true, timeout: 10_000 });
  try {
    const row = database.prepare("SELECT dimension FROM vector_sets WHERE model = ? LIMIT 1").get(model);
    return row === undefined ? undefined : Number(row["dimension"]);
  } finally {
    database.close();
  }
}
