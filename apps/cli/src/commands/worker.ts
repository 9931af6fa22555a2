import { parseConfig } from "#core";
import { parseRoles } from "../../../worker/src/parse-roles.js";
import { runWorker } from "../../../worker/src/run-worker.js";
import { environmentWithPlaces } from "../locations.js";

export interface WorkerOptions {
  readonly roles: string;
}

/** `espalier worker`: one worker process, configured by the environment, until a signal. */
export async function worker(options: WorkerOptions): Promise<void> {
  const config = parseConfig(environmentWithPlaces(process.env), {
    REDIS_URL: "API and workers share it; `espalier up` brings one of its own",
  });
  await runWorker(config, { roles: parseRoles(options.roles), serveMetrics: true });
}
