import { LIMITS } from "#core";
import type { CacheStore } from "#memory";
import type { Embedding, EmbeddingCache, EntailmentCache } from "#scoring";
import type { CacheLimits } from "../stores.js";
import type { Connection } from "./connection.js";
import type { Database } from "./database.js";
import { bytesOf } from "./vector-sets.js";

/**
 * Caches in a file of their own: a query that keeps a vector never waits for a long change set, and what can be computed
 * again is not synced to disk at once.
 */
export class SqliteCacheStore implements CacheStore {
  constructor(
    private readonly database: Database,
    private readonly limits: CacheLimits,
  ) {}

  embeddings(tenant: string): EmbeddingCache {
    return {
      get: (hashes) =>
        this.database.read((connection) => {
          const rows = connection.tuples<readonly [hash: string, windowed: number, vector: Uint8Array]>(
            `SELECT c.hash, c.windowed, c.vector FROM json_each(?) h
             CROSS JOIN embeddings c ON c.tenant = ? AND c.hash = h.value`,
            [JSON.stringify(hashes), tenant],
          );
          return new Map(rows.map(([hash, windowed, vector]) => [hash, embeddingOf(windowed, vector)]));
        }),
      put: (entries) =>
        this.#put("embeddings", entries.size, (connection) => {
          let added = 0;
          for (const [hash, { vector, windowed }] of entries) {
            added += connection.run(
              `INSERT INTO embeddings (tenant, hash, windowed, vector) VALUES (?, ?, ?, ?)
               ON CONFLICT (tenant, hash) DO NOTHING`,
              [tenant, hash, windowed ? 1 : 0, bytesOf(vector)],
            ).changes;
          }
          return added;
        }),
    };
  }

  entailments(tenant: string): EntailmentCache {
    return {
      get: (hashes) =>
        this.database.read((connection) => {
          const rows = connection.tuples<readonly [hash: string, value: number]>(
            `SELECT c.hash, c.value FROM json_each(?) h CROSS JOIN entailments c ON c.tenant = ? AND c.hash = h.value`,
            [JSON.stringify(hashes), tenant],
          );
          return new Map(rows);
        }),
      put: (entries) =>
        this.#put("entailments", entries.size, (connection) => {
          let added = 0;
          for (const [hash, value] of entries) {
            added += connection.run(
              "INSERT INTO entailments (tenant, hash, value) VALUES (?, ?, ?) ON CONFLICT (tenant, hash) DO NOTHING",
              [tenant, hash, value],
            ).changes;
          }
          return added;
        }),
    };
  }

  async deleteTenant(tenant: string): Promise<number> {
    return (await this.#delete("embeddings", tenant)) + (await this.#delete("entailments", tenant));
  }

  /** In bounded steps, so that other writers wait for no more than one. */
  async #delete(table: keyof CacheLimits, tenant: string): Promise<number> {
    let sum = 0;
    for (;;) {
      // eslint-disable-next-line require-yield -- bounded
      const deleted = await this.database.write(function* (connection) {
        const { changes } = connection.run(
          `DELETE FROM ${table} WHERE row IN (SELECT row FROM ${table} WHERE tenant = ? LIMIT ?)`,
          [tenant, LIMITS.cacheKeys],
        );
        connection.run("UPDATE sizes SET count = count - ? WHERE name = ?", [changes, table]);
        return changes;
      });
      sum += deleted;
      if (deleted < LIMITS.cacheKeys) return sum;
    }
  }

  async #put(table: keyof CacheLimits, count: number, insert: (connection: Connection) => number): Promise<void> {
    if (count === 0) return;
    const limit = this.limits[table];
    // eslint-disable-next-line require-yield -- callers bring bounded waves
    await this.database.write(function* (connection) {
      const added = insert(connection);
      const size = connection.get<{ readonly count: number }>(
        "UPDATE sizes SET count = count + ? WHERE name = ? RETURNING count",
        [added, table],
      );
      const excess = (size?.count ?? 0) - limit;
      if (excess <= 0) return;
      const { changes } = connection.run(
        `DELETE FROM ${table} WHERE row IN (SELECT row FROM ${table} ORDER BY row LIMIT ?)`,
        [excess],
      );
      connection.run("UPDATE sizes SET count = count - ? WHERE name = ?", [changes, table]);
    });
  }
}

function embeddingOf(windowed: number, bytes: Uint8Array): Embedding {
  return { vector: new Float32Array(bytes.slice().buffer), windowed: windowed === 1 };
}
