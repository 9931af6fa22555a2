import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseConfig, randomId } from "#core";
import { openDistributedStores, openStores, type OpenStoresOptions, type Stores } from "#stores";
import { startRedis } from "../../test/support/redis.js";

/** Empty stores of a benchmark. */
export interface OpenedStores {
  readonly stores: Stores;
  /** Removes what they were kept in, after `stores.close`. */
  readonly remove: () => Promise<void>;
}

/** SQLite in a new temporary folder. */
export async function openFiles(
  options: Pick<OpenStoresOptions, "imageBytes"> = {},
): Promise<OpenedStores & { readonly folder: string }> {
  const folder = await mkdtemp(join(tmpdir(), "espalier-bench-"));
  const remove = (): Promise<void> => rm(folder, { recursive: true, force: true });
  return { stores: openStores({ folder, ...options }), folder, remove };
}

/**
 * The Neo4j and the Qdrant of the environment, with a private Redis. Collections have a prefix of their own; memories are
 * removed by who makes them. @throws Error if the environment does not name both
 */
export async function openServers(): Promise<OpenedStores & { readonly prefix: string }> {
  const { distributed } = parseConfig({ ...process.env, REDIS_URL: "" });
  if (distributed === undefined) throw new Error("NEO4J_URI and QDRANT_URL are not set");
  const redis = await startRedis();
  const prefix = `bench-${randomId("key").slice(-12)}`;
  return {
    stores: openDistributedStores({ ...distributed, redis: redis.address, prefix }),
    prefix,
    remove: () => redis.close(),
  };
}
