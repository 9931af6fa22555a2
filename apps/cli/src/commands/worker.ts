import { parseConfig } from "#core";
import type { JobKind } from "#jobs";
import { parseRoles } from "../../../worker/src/parse-roles.js";
import { runWorker } from "../../../worker/src/run-worker.js";
import { CommandError } from "../command-error.js";
import { environmentWithPlaces } from "../locations.js";

export interface WorkerOptions {
  readonly roles: string;
}

/** `espalier worker`: one worker process, configured by the environment, until a signal. */
export async function worker(options: WorkerOptions): Promise<void> {
  const config = parseConfig(environmentWithPlaces(process.env), {
    REDIS_URL: "API and workers share it; `espalier up` brings one of its own",
  });
  await runWorker(config, { roles: rolesIn(options.roles), serveMetrics: true });
}

function rolesIn(text: string): readonly JobKind[] {
  try {
    return parseRoles(text);
  } catch (error) {
    throw new CommandError((error as Error).message, { cause: error });
  }
}
