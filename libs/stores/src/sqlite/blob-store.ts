import type { BlobStore } from "#memory";
import type { Database } from "./database.js";

/** Blobs of payloads and results; those of a memory go with it. */
export class SqliteBlobStore implements BlobStore {
  constructor(private readonly database: Database) {}

  async put(
    tenant: string,
    key: string,
    bytes: Uint8Array,
    options: { readonly memory?: string; readonly expiresAt: number },
  ): Promise<void> {
    await this.#change(
      `INSERT INTO blobs (tenant, key, memory, expires_at, bytes) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT (tenant, key) DO UPDATE SET memory = excluded.memory, expires_at = excluded.expires_at, bytes = excluded.bytes`,
      [tenant, key, options.memory ?? null, options.expiresAt, bytes],
    );
  }

  get(tenant: string, key: string): Promise<Uint8Array | undefined> {
    return this.database.read(
      (connection) =>
        connection.get<{ readonly bytes: Uint8Array }>("SELECT bytes FROM blobs WHERE tenant = ? AND key = ?", [
          tenant,
          key,
        ])?.bytes,
    );
  }

  async delete(tenant: string, key: string): Promise<void> {
    await this.#change("DELETE FROM blobs WHERE tenant = ? AND key = ?", [tenant, key]);
  }

  deleteTenant(tenant: string): Promise<number> {
    return this.#change("DELETE FROM blobs WHERE tenant = ?", [tenant]);
  }

  sweep(now: number): Promise<number> {
    return this.#change("DELETE FROM blobs WHERE expires_at < ?", [now]);
  }

  #change(sql: string, parameters: readonly (string | number | null | Uint8Array)[]): Promise<number> {
    // eslint-disable-next-line require-yield -- one statement
    return this.database.write(function* (connection) {
      return connection.run(sql, parameters).changes;
    });
  }
}
