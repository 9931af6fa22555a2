import { EspalierError } from "#core";
import type { Connection } from "./connection.js";

/** One step from the version before; its version is its place in the list, from 1. Never changed once released. */
export type Migration = string;

/**
 * Brings the tables up to date in one transaction. Processes that open a new file at once wait for the first of them and
 * find nothing left to do. @throws EspalierError `store_unavailable` if the file was made by a later version
 */
export function migrate(connection: Connection, migrations: readonly Migration[]): void {
  if (versionOf(connection) === migrations.length) return;
  connection.execute("BEGIN IMMEDIATE");
  try {
    const version = versionOf(connection);
    if (version > migrations.length) {
      throw new EspalierError(
        "store_unavailable",
        `The database has tables of version ${version}; this program knows versions up to ${migrations.length}. Use a later release.`,
      );
    }
    for (const migration of migrations.slice(version)) connection.execute(migration);
    connection.execute(`PRAGMA user_version = ${migrations.length}`);
    connection.execute("COMMIT");
  } catch (thrown) {
    connection.execute("ROLLBACK");
    throw thrown;
  }
}

function versionOf(connection: Connection): number {
  return connection.get<{ readonly user_version: number }>("PRAGMA user_version")?.user_version ?? 0;
}
