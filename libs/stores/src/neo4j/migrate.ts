/**
 * Brings constraints and indexes up to date. Any number of processes may do so at once: one holds the lock, a node, and the
 * others wait; a process that dies gives it back. Each migration can be run again, so a death in the middle does no harm.
 *
 * `IF NOT EXISTS` is silent where a *name* is taken by something else, so every name is checked afterwards, and that the
 * indexes are filled: a plan without them would read whole memories.
 */
import { setTimeout as delay } from "node:timers/promises";
import { EspalierError } from "#core";
import type { Database as Connected } from "./database.js";
import { MIGRATIONS } from "./migrations.js";

/** Milliseconds that a new index may take to be filled: 1M nodes take about ten seconds. */
const FILL_MS = 600_000;
const LOOK_MS = 200;

const LOCK = "CREATE CONSTRAINT migration_version IF NOT EXISTS FOR (v:Migration) REQUIRE v.version IS UNIQUE";

type Database = Pick<Connected, "read" | "write">;

/** What a name stands for. */
interface SchemaObject {
  readonly name: string;
  readonly label: string;
  readonly properties: readonly string[];
  readonly unique: boolean;
}

interface IndexRow {
  readonly name: string;
  readonly state: string;
  readonly labelsOrTypes: readonly string[] | null;
  readonly properties: readonly string[] | null;
  readonly owningConstraint: string | null;
}

/** @throws EspalierError `store_unavailable`, also when the schema is of a newer program, a name is taken or an index cannot be filled */
export async function migrate(database: Database): Promise<void> {
  await alter(database, LOCK);
  await database.write(async (transaction) => {
    await transaction.run("MERGE (v:Migration {version: 0}) SET v.locked = true");
    const done = await transaction.run<{ readonly version: number }>("MATCH (v:Migration) RETURN v.version AS version");
    const latest = Math.max(...done.map(({ version }) => version));
    if (latest > MIGRATIONS.length) {
      throw unusable(
        `its schema is of version ${latest}, made by a newer program; this one knows ${MIGRATIONS.length}: use the newer one or restore a backup`,
      );
    }
    for (const [index, statements] of MIGRATIONS.entries()) {
      const version = index + 1;
      if (version <= latest) continue;
      for (const statement of statements) await alter(database, statement);
      await transaction.run("MERGE (v:Migration {version: toInteger($version)}) SET v.time = timestamp()", { version });
    }
  });
  await check(database);
}

/** A command of the schema is a transaction of its own. */
async function alter(database: Database, statement: string): Promise<void> {
  await database.write((transaction) => transaction.run(statement));
}

async function check(database: Database): Promise<void> {
  const wanted = schemaOf(MIGRATIONS.flat());
  const deadline = Date.now() + FILL_MS;
  for (;;) {
    const rows = await database.read((transaction) =>
      transaction.run<IndexRow>("SHOW INDEXES YIELD name, state, labelsOrTypes, properties, owningConstraint"),
    );
    const found = new Map(rows.map((row) => [row.name, row]));
    const states = wanted.map((object) => stateOf(object, found.get(object.name)));
    if (states.every((state) => state === "ONLINE")) return;
    if (Date.now() > deadline) throw unusable("its indexes were not filled in time: see its log");
    await delay(LOOK_MS);
  }
}

function stateOf(wanted: SchemaObject, found: IndexRow | undefined): string {
  const isMeant =
    found?.labelsOrTypes?.join() === wanted.label &&
    found.properties?.join() === wanted.properties.join() &&
    (found.owningConstraint === found.name) === wanted.unique;
  if (found === undefined || !isMeant) {
    throw unusable(`the name ${wanted.name} is taken by another index or constraint: drop that one and start again`);
  }
  if (found.state === "FAILED") throw unusable(`the index ${wanted.name} could not be filled: drop it and start again`);
  return found.state;
}

const unusable = (reason: string): EspalierError =>
  new EspalierError("store_unavailable", `Neo4j cannot be used: ${reason}.`);

/** What the statements of all migrations make, less what they drop. */
function schemaOf(statements: readonly string[]): readonly SchemaObject[] {
  const dropped = new Set(statements.flatMap((statement) => /^DROP INDEX (\w+)/.exec(statement)?.[1] ?? []));
  return statements.flatMap((statement) => {
    const [, kind, name = "", label = "", properties = ""] =
      /^CREATE (CONSTRAINT|INDEX) (\w+) IF NOT EXISTS FOR \(\w:(\w+)\) (?:REQUIRE|ON) (.+)$/.exec(statement) ?? [];
    if (kind === undefined || dropped.has(name)) return [];
    const named = [...properties.matchAll(/\w\.(\w+)/g)].map(([, property = ""]) => property);
    return [{ name, label, properties: named, unique: kind === "CONSTRAINT" }];
  });
}
