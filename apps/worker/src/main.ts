import { parseArgs } from "node:util";
import { parseConfig } from "#core";
import { parseRoles } from "./parse-roles.js";
import { runWorker } from "./run-worker.js";

/** `node dist/apps/worker/src/main.js [--roles query,insert]`: a worker alone, configured by the environment. */
try {
  const { values } = parseArgs({ options: { roles: { type: "string", default: "all" } } });
  const forked = process.send !== undefined;
  await runWorker(parseConfig(process.env), { roles: parseRoles(values.roles), serveMetrics: !forked });
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
}
