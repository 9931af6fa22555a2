import { readFileSync } from "node:fs";
import { fillFromFiles, parseConfig } from "#core";
import { openApi } from "./open-api.js";

/** `node dist/apps/api/src/main.js`: the API alone, configured by the environment. SIGTERM and SIGINT drain; a second one ends at once. */
async function main(): Promise<void> {
  const environment = fillFromFiles(process.env, (path) => readFileSync(path, "utf8"));
  const config = parseConfig(environment, { REDIS_URL: "API and workers share it" });
  const api = await openApi({ ...config, redisUrl: config.redisUrl ?? "" });
  const key = await api.firstKey();
  if (key.created !== undefined) {
    process.stdout.write(`admin key (shown once, kept in ${key.file}): ${key.created}\n`);
  }
  process.stdout.write(`espalier ready url=${api.url}\n`);
  const stop = (): void => {
    for (const name of ["SIGTERM", "SIGINT"] as const) process.once(name, () => process.exit(1));
    api.close().then(
      () => process.exit(0),
      () => process.exit(1),
    );
  };
  process.once("SIGTERM", stop);
  process.once("SIGINT", stop);
}

try {
  await main();
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
}
