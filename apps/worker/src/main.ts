import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { fillFromFiles, parseConfig } from "#core";
import { parseRoles } from "./parse-roles.js";
import { runWorker } from "./run-worker.js";

/** `node dist/apps/worker/src/main.js [--roles query,insert]`: a worker alone, configured by the environment. */
try {
  const { values } = parseArgs({ options: { roles: { type: "string", default: "all" } } });
  const environment = fillFromFiles(process.env, (path) => readFileSync(path, "utf8"));
  const forked = process.send !== undefined;
  await runWorker(parseConfig(environment), { roles: parseRoles(values.roles), serveMetrics: !forked });
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
}
