/** A worker process of one role, the argument, that prints when it is ready. */
import { parseConfig } from "#core";
import { parseRoles } from "../../apps/worker/src/parse-roles.js";
import { startWorker } from "../../apps/worker/src/start-worker.js";

const worker = await startWorker(parseConfig(process.env), { roles: parseRoles(process.argv[2] ?? "all") });
process.once("SIGTERM", () => {
  void worker.close().then(() => process.exit(0));
});
process.stdout.write("ready\n");
