import type { ApiKey, KeyScope, KeyStore } from "#memory";
import { type Connection, limitTo } from "./connection.js";
import type { Database } from "./database.js";

interface KeyRow {
  readonly id: string;
  readonly tenant: string;
  readonly name: string;
  readonly scopes: string;
  readonly memory_prefix: string | null;
  readonly created_at: number;
  readonly expires_at: number | null;
}

const COLUMNS = "id, tenant, name, scopes, memory_prefix, created_at, expires_at";

/** API keys by the hash of their secret. */
export class SqliteKeyStore implements KeyStore {
  constructor(private readonly database: Database) {}

  async add(key: ApiKey, hash: string): Promise<void> {
    // eslint-disable-next-line require-yield -- one statement
    await this.database.write(function* (connection) {
      connection.run(`INSERT INTO api_keys (hash, ${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`, [
        ...[hash, key.id, key.tenant, key.name, JSON.stringify(key.scopes), key.memoryPrefix ?? null],
        ...[key.createdAt, key.expiresAt ?? null],
      ]);
    });
  }

  byHash(hash: string): Promise<ApiKey | undefined> {
    return this.database.read((connection) => {
      const row = connection.get<KeyRow>(`SELECT ${COLUMNS} FROM api_keys WHERE hash = ?`, [hash]);
      return row && keyOf(row);
    });
  }

  get(id: string): Promise<ApiKey | undefined> {
    return this.database.read((connection) => findKey(connection, id));
  }

  expire(id: string, at: number): Promise<ApiKey | undefined> {
    // eslint-disable-next-line require-yield -- one row
    return this.database.write(function* (connection) {
      connection.run("UPDATE api_keys SET expires_at = min(coalesce(expires_at, ?2), ?2) WHERE id = ?1", [id, at]);
      return findKey(connection, id);
    });
  }

  list(tenant: string, page: { readonly limit: number; readonly after?: string }): Promise<readonly ApiKey[]> {
    return this.database.read((connection) =>
      connection
        .all<KeyRow>(`SELECT ${COLUMNS} FROM api_keys WHERE tenant = ? AND id > ? ORDER BY id ${limitTo("?")}`, [
          ...[tenant, page.after ?? "", page.limit],
        ])
        .map(keyOf),
    );
  }

  remove(tenant: string, id: string): Promise<boolean> {
    // eslint-disable-next-line require-yield -- one statement
    return this.database.write(function* (connection) {
      return connection.run("DELETE FROM api_keys WHERE tenant = ? AND id = ?", [tenant, id]).changes > 0;
    });
  }

  countLive(tenant: string, now: number): Promise<number> {
    return this.database.read((connection) => {
      const live = "tenant = ? AND (expires_at IS NULL OR expires_at > ?)";
      const row = connection.get<{ readonly count: number }>(`SELECT count(*) AS count FROM api_keys WHERE ${live}`, [
        ...[tenant, now],
      ]);
      return row?.count ?? 0;
    });
  }

  forgetEnded(tenant: string, { by, keep }: { readonly by: number; readonly keep: number }): Promise<number> {
    // eslint-disable-next-line require-yield -- one statement
    return this.database.write(function* (connection) {
      return connection.run(
        `DELETE FROM api_keys WHERE rowid IN (
           SELECT rowid FROM api_keys WHERE tenant = ? AND expires_at <= ? ORDER BY expires_at DESC LIMIT -1 OFFSET ?)`,
        [tenant, by, keep],
      ).changes;
    });
  }

  removeAll(tenant: string): Promise<number> {
    // eslint-disable-next-line require-yield -- one statement
    return this.database.write(function* (connection) {
      return connection.run("DELETE FROM api_keys WHERE tenant = ?", [tenant]).changes;
    });
  }

  count(): Promise<number> {
    return this.database.read(
      (connection) => connection.get<{ readonly count: number }>("SELECT count(*) AS count FROM api_keys")?.count ?? 0,
    );
  }
}

function findKey(connection: Connection, id: string): ApiKey | undefined {
  const row = connection.get<KeyRow>(`SELECT ${COLUMNS} FROM api_keys WHERE id = ?`, [id]);
  return row && keyOf(row);
}

function keyOf(row: KeyRow): ApiKey {
  return {
    id: row.id,
    tenant: row.tenant,
    name: row.name,
    scopes: JSON.parse(row.scopes) as readonly KeyScope[],
    ...(row.memory_prefix !== null && { memoryPrefix: row.memory_prefix }),
    createdAt: row.created_at,
    ...(row.expires_at !== null && { expiresAt: row.expires_at }),
  };
}
