import { existsSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

/** What a look at a data folder's database found. */
export interface DatabaseInspection {
  /** What SQLite's own check of pages, rows and indexes found; empty if all is well. */
  readonly damages: readonly string[];
  /** Counts over all memories of all tenants. */
  readonly memories: number;
  /** Live nodes of the newest revisions. */
  readonly nodes: number;
  readonly keys: number;
  /** Memories whose counts do not agree: `texts` live nodes with a text, `vectors` of them with a vector of the memory's model. */
  readonly drifted: readonly { readonly memory: string; readonly texts: number; readonly vectors: number }[];
}

/** Damages that are reported of one file: the first ones say enough. */
const DAMAGES = 10;

/**
 * Looks at the database of a data folder without changing it, also while others use it: a reader of its own over one state of the file.
 * Reads all of it: about a second per gigabyte. Undefined if there is no file yet.
 * @throws Error of SQLite if the file is no database, or of a later version
 */
export function inspectDatabase(folder: string): DatabaseInspection | undefined {
  const path = join(folder, "espalier.db");
  if (!existsSync(path)) return undefined;
  const database = new DatabaseSync(path, { readOnly: true, timeout: 10_000 });
  try {
    database.exec("BEGIN");
    const damages = database.prepare(`PRAGMA integrity_check(${DAMAGES})`).all();
    const counts = database.prepare(COUNTS).get() as { memories: number; nodes: number; keys: number };
    const memories = database.prepare(MEMORIES).all() as { memory: string; texts: number; vectors: number }[];
    return {
      damages: damages.map((row) => String(row["integrity_check"])).filter((text) => text !== "ok"),
      ...counts,
      drifted: memories.filter(({ texts, vectors }) => texts !== vectors),
    };
  } finally {
    database.close();
  }
}

const COUNTS = `
SELECT (SELECT count(*) FROM memories) AS memories,
       (SELECT count(*) FROM states WHERE head = 1) AS nodes,
       (SELECT count(*) FROM api_keys) AS keys`;

const MEMORIES = `
SELECT m.id AS memory,
       (SELECT count(*) FROM states s WHERE s.memory = m.row AND s.head = 1 AND s.text <> '') AS texts,
       (SELECT count(*)
          FROM vector_sets f
          JOIN vectors v ON v.vector_set = f.id
          JOIN states s ON s.row = v.state
         WHERE f.memory = m.row AND f.model = m.embedding_model AND f.field = '' AND s.head = 1) AS vectors
  FROM memories m`;
