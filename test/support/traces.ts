import type { Redis } from "ioredis";
import { DatabaseSync } from "node:sqlite";

/** Keys of a Redis that name something, or have it named in what they hold. */
export async function tracesInRedis(redis: Redis, what: string): Promise<readonly string[]> {
  const found: string[] = [];
  for (const key of await redis.keys("*")) {
    if (`${key} ${JSON.stringify(await contentOf(redis, key))}`.includes(what)) found.push(key);
  }
  return found;
}

async function contentOf(redis: Redis, key: string): Promise<unknown> {
  switch (await redis.type(key)) {
    case "string":
      return redis.get(key);
    case "hash":
      return redis.hgetall(key);
    case "list":
      return redis.lrange(key, 0, -1);
    case "set":
      return redis.smembers(key);
    case "zset":
      return redis.zrange(key, "0", "-1");
    case "stream":
      return redis.xrange(key, "-", "+");
    default:
      return undefined;
  }
}

/** Rows of each table of a SQLite file. */
export function rowsIn(path: string): Readonly<Record<string, number>> {
  return inspect(path, (database, table) => {
    const row = database.prepare(`SELECT count(*) AS rows FROM "${table}"`).get() as { readonly rows: number };
    return row.rows;
  });
}

/** Tables of a SQLite file with a row that names something. */
export function tracesIn(path: string, what: string): readonly string[] {
  const found = inspect(path, (database, table) =>
    database
      .prepare(`SELECT * FROM "${table}"`)
      .all()
      .some((row) => Object.values(row).some((value) => typeof value === "string" && value.includes(what))),
  );
  return Object.keys(found).filter((table) => found[table] === true);
}

/** What one looks up in each table but SQLite's own. */
function inspect<Value>(
  path: string,
  look: (database: DatabaseSync, table: string) => Value,
): Readonly<Record<string, Value>> {
  const database = new DatabaseSync(path, { readOnly: true });
  try {
    const tables = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'");
    return Object.fromEntries(
      tables.all().map((row) => {
        const table = String(row["name"]);
        return [table, look(database, table)];
      }),
    );
  } finally {
    database.close();
  }
}
