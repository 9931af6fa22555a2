import type { ApiKey, KeyStore } from "#memory";
import type { Database } from "./database.js";

const COLUMNS = `k.id AS id, k.tenant AS tenant, k.name AS name, k.scopes AS scopes, k.memoryPrefix AS memoryPrefix,
  k.createdAt AS createdAt, k.expiresAt AS expiresAt`;

/** The statements of keys. */
export const KEYS = {
  add: `
MERGE (k:ApiKey {hash: $hash})
ON CREATE SET k.id = $id, k.tenant = $tenant, k.name = $name, k.scopes = $scopes, k.createdAt = toInteger($createdAt),
  k.memoryPrefix = $memoryPrefix, k.expiresAt = toInteger($expiresAt)
RETURN k.tenant = $tenant AND k.id = $id AS isOwn`,

  byHash: `
MATCH (k:ApiKey {hash: $hash})
RETURN ${COLUMNS}`,

  get: `
MATCH (k:ApiKey {id: $id})
RETURN ${COLUMNS}`,

  expire: `
MATCH (k:ApiKey {id: $id})
SET k.expiresAt = CASE WHEN k.expiresAt < $at THEN k.expiresAt ELSE toInteger($at) END
RETURN ${COLUMNS}`,

  list: `
MATCH (k:ApiKey) WHERE k.tenant = $tenant AND k.id > $after
RETURN ${COLUMNS}
ORDER BY k.tenant, k.id LIMIT toInteger($limit)`,

  remove: `
MATCH (k:ApiKey {tenant: $tenant, id: $id})
DELETE k
RETURN count(*) AS removed`,

  countLive: `
MATCH (k:ApiKey) WHERE k.tenant = $tenant AND k.id > '' AND (k.expiresAt IS NULL OR k.expiresAt > $now)
RETURN count(k) AS count`,

  forgetEnded: `
MATCH (k:ApiKey) WHERE k.tenant = $tenant AND k.id > '' AND k.expiresAt <= $by
WITH k ORDER BY k.expiresAt DESC SKIP toInteger($keep)
DELETE k
RETURN count(*) AS removed`,

  removeAll: `
MATCH (k:ApiKey) WHERE k.tenant = $tenant AND k.id > ''
DELETE k
RETURN count(*) AS removed`,

  /** Read from the store's own count of the label. */
  count: `
MATCH (k:ApiKey)
RETURN count(k) AS count`,
} as const;

interface KeyColumns extends Pick<ApiKey, "id" | "tenant" | "name" | "scopes" | "createdAt"> {
  readonly memoryPrefix: string | null;
  readonly expiresAt: number | null;
}

/** API keys by the hash of their secret. */
export class Neo4jKeyStore implements KeyStore {
  constructor(private readonly database: Database) {}

  async add(key: ApiKey, hash: string): Promise<void> {
    const { memoryPrefix = null, expiresAt = null, scopes } = key;
    const [row] = await this.database.write((transaction) =>
      transaction.run<{ readonly isOwn: boolean }>(KEYS.add, {
        ...key,
        scopes: [...scopes],
        memoryPrefix,
        expiresAt,
        hash,
      }),
    );
    if (row?.isOwn !== true) throw new Error("The key's hash is known.");
  }

  async byHash(hash: string): Promise<ApiKey | undefined> {
    const [row] = await this.database.read((transaction) => transaction.run<KeyColumns>(KEYS.byHash, { hash }));
    return row && keyOf(row);
  }

  async get(id: string): Promise<ApiKey | undefined> {
    const [row] = await this.database.read((transaction) => transaction.run<KeyColumns>(KEYS.get, { id }));
    return row && keyOf(row);
  }

  async expire(id: string, at: number): Promise<ApiKey | undefined> {
    const [row] = await this.database.write((transaction) => transaction.run<KeyColumns>(KEYS.expire, { id, at }));
    return row && keyOf(row);
  }

  async list(
    tenant: string,
    { limit, after = "" }: { readonly limit: number; readonly after?: string },
  ): Promise<readonly ApiKey[]> {
    const rows = await this.database.read((transaction) =>
      transaction.run<KeyColumns>(KEYS.list, { tenant, after, limit }),
    );
    return rows.map(keyOf);
  }

  async remove(tenant: string, id: string): Promise<boolean> {
    const [row] = await this.database.write((transaction) =>
      transaction.run<{ readonly removed: number }>(KEYS.remove, { tenant, id }),
    );
    return (row?.removed ?? 0) > 0;
  }

  async countLive(tenant: string, now: number): Promise<number> {
    const [row] = await this.database.read((transaction) =>
      transaction.run<{ readonly count: number }>(KEYS.countLive, { tenant, now }),
    );
    return row?.count ?? 0;
  }

  async forgetEnded(tenant: string, { by, keep }: { readonly by: number; readonly keep: number }): Promise<number> {
    const [row] = await this.database.write((transaction) =>
      transaction.run<{ readonly removed: number }>(KEYS.forgetEnded, { tenant, by, keep }),
    );
    return row?.removed ?? 0;
  }

  async removeAll(tenant: string): Promise<number> {
    const [row] = await this.database.write((transaction) =>
      transaction.run<{ readonly removed: number }>(KEYS.removeAll, { tenant }),
    );
    return row?.removed ?? 0;
  }

  async count(): Promise<number> {
    const [row] = await this.database.read((transaction) =>
      transaction.run<{ readonly count: number }>(KEYS.count, {}),
    );
    return row?.count ?? 0;
  }
}

function keyOf({ memoryPrefix, expiresAt, ...key }: KeyColumns): ApiKey {
  return { ...key, ...(memoryPrefix !== null && { memoryPrefix }), ...(expiresAt !== null && { expiresAt }) };
}
