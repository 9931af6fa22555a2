import { join } from "node:path";
import { ConfigError, parseConfig, randomId, systemClock } from "#core";
import { createJobClient } from "#jobs";
import { openEmbeddingModels } from "#models";
import { openStores } from "#stores";
import { createLogger } from "#telemetry";
import { ensureAdminKey } from "./auth/admin-key.js";
import { startApi } from "./start-api.js";

/** The API as a process of its own, configured by the environment. Stops on SIGTERM and SIGINT. */
async function main(): Promise<void> {
  const config = parseConfig(process.env);
  if (config.redisUrl === undefined) {
    throw new ConfigError(["REDIS_URL is needed: only `espalier up` brings a Redis of its own"]);
  }
  const logger = createLogger({ level: config.logLevel, process: "api" });
  const stores = await openStores({ dataFolder: config.dataFolder, clock: systemClock });
  const jobs = createJobClient({
    redis: config.redisUrl,
    payloadStore: stores.blobs,
    clock: systemClock,
    ids: randomId,
  });
  const embeddingModels = await openEmbeddingModels(config.embedding, {
    modelsFolder: config.modelsFolder,
    now: () => systemClock.now(),
  });
  const admin = await ensureAdminKey({
    keys: stores.keys,
    dataFolder: config.dataFolder,
    clock: systemClock,
    ids: randomId,
  });
  if (admin.created !== undefined) {
    process.stdout.write(`admin key (shown once, kept in ${join(config.dataFolder, "admin.key")}): ${admin.created}\n`);
  }
  const api = await startApi(config, { stores, jobs, embeddingModels, logger });
  process.stdout.write(`espalier ready url=${api.url}\n`);
  let stopping: Promise<void> | undefined;
  const stop = (): void => {
    stopping ??= api.close().then(async () => {
      await jobs.close();
      await stores.close();
    });
    void stopping.catch((error: unknown) => {
      logger.error({ err: error }, "the stop failed");
      process.exitCode = 1;
    });
  };
  process.once("SIGTERM", stop);
  process.once("SIGINT", stop);
}

try {
  await main();
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
