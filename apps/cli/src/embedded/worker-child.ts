import { parseConfig } from "#core";
import { parseRoles } from "../../../worker/src/parse-roles.js";
import { runWorker } from "../../../worker/src/run-worker.js";

/**
 * A worker process of `espalier up`. Arguments: its roles joined by commas, then the data folder, by which a later `up`
 * recognises it as one of its own.
 */
await runWorker(parseConfig(process.env), { roles: parseRoles(process.argv[2] ?? "") });
