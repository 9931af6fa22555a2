import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { type Clock, EspalierError, LIMITS, systemClock } from "#core";
import { type CacheLimits, DEFAULT_CACHE_LIMITS, type Stores } from "../stores.js";
import { SqliteBlobStore } from "./blob-store.js";
import { SqliteCacheStore } from "./cache-store.js";
import { Database, type DatabaseOptions } from "./database.js";
import { MemoryImages } from "./image/memory-images.js";
import { SqliteKeyStore } from "./key-store.js";
import { SqliteLexicalIndex } from "./lexical-index.js";
import { CACHE_MIGRATIONS, TREE_MIGRATIONS } from "./migrations.js";
import { SqliteTenantStore } from "./tenant-store.js";
import { SqliteTreeStore } from "./tree-store.js";
import { SqliteVectorStore } from "./vector-store.js";

export interface OpenStoresOptions {
  /** The data folder (made if missing, 0700), or `:memory:` for stores that end with the process. */
  readonly folder: string;
  readonly clock?: Clock;
  /** How long a call waits for the locks of other processes; default LIMITS.storeLockWaitMs. */
  readonly lockWaitMs?: number;
  /** Bytes of the memories' images in this process; default LIMITS.memoryImageBytes, 0 for none: statements answer searches. */
  readonly imageBytes?: number;
  /** Rows of the persistent caches; default LIMITS.cachedEmbeddings and LIMITS.cachedEntailments. */
  readonly cacheLimits?: CacheLimits;
}

/**
 * Opens the SQLite stores of a data folder: `espalier.db` with everything that must not be lost, and `espalier-cache.db` with
 * what can be computed again. Several processes may have them open. @throws EspalierError `store_unavailable`
 */
export function openStores(options: OpenStoresOptions): Stores {
  const { folder, clock = systemClock, lockWaitMs = LIMITS.storeLockWaitMs } = options;
  const path = (name: string): string => (folder === ":memory:" ? folder : join(folder, name));
  if (folder !== ":memory:") makeFolder(folder);
  const shared = { lockWaitMs, clock };
  const trees = Database.open({
    ...shared,
    path: path("espalier.db"),
    migrations: TREE_MIGRATIONS,
    synchronous: "full",
  });
  const caches = openCaches({ ...shared, path: path("espalier-cache.db") }, trees);
  const images = new MemoryImages(options.imageBytes ?? LIMITS.memoryImageBytes);
  return {
    tree: new SqliteTreeStore(trees, images),
    vectors: new SqliteVectorStore(trees, images),
    lexical: new SqliteLexicalIndex(trees, images),
    caches: new SqliteCacheStore(caches, options.cacheLimits ?? DEFAULT_CACHE_LIMITS),
    blobs: new SqliteBlobStore(trees),
    keys: new SqliteKeyStore(trees),
    tenants: new SqliteTenantStore(trees),
    ping: async () => {
      for (const database of [trees, caches])
        await database.read((connection) => connection.get("PRAGMA user_version"));
    },
    close: async () => {
      await trees.close();
      await caches.close();
    },
  };
}

/** The second file; the first one is not left open if this one cannot be. */
function openCaches(options: Pick<DatabaseOptions, "path" | "lockWaitMs" | "clock">, trees: Database): Database {
  try {
    return Database.open({ ...options, migrations: CACHE_MIGRATIONS, synchronous: "normal" });
  } catch (error) {
    void trees.close();
    throw error;
  }
}

function makeFolder(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
  } catch (cause) {
    throw new EspalierError("store_unavailable", `The data folder ${folder} cannot be made.`, { cause });
  }
}
