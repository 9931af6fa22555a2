import type { TreeStore } from "#memory";
import { Database, type DatabaseOptions } from "./database.js";
import { migrate } from "./migrate.js";
import { Neo4jTreeStore } from "./tree-store.js";

/** A tree store over a Neo4j alone, with its schema up to date: for programs that look at nothing but trees. */
export async function openNeo4jTree(
  options: DatabaseOptions,
): Promise<{ readonly tree: TreeStore; close(): Promise<void> }> {
  const database = new Database(options);
  try {
    await migrate(database);
  } catch (error) {
    await database.close();
    throw error;
  }
  return { tree: new Neo4jTreeStore(database), close: () => database.close() };
}
