import { createLogger } from "#telemetry";
import { checkedConfig } from "../checked-config.js";
import { startEmbedded } from "../embedded/start-embedded.js";
import { environmentWithPlaces } from "../locations.js";
import { printReady } from "../print-ready.js";
import { stopOnSignals } from "../stop-on-signals.js";

export interface UpOptions {
  readonly port?: number;
  readonly data?: string;
}

/** `espalier up`: everything of one machine, until a signal. */
export async function up(options: UpOptions): Promise<void> {
  const environment = environmentWithPlaces({
    ...process.env,
    ...(options.port !== undefined && { ESPALIER_PORT: String(options.port) }),
    ...(options.data !== undefined && { ESPALIER_DATA: options.data }),
  });
  const given = await checkedConfig(environment);
  const logger = createLogger({ level: given.logLevel, process: "up" });
  const starting = startEmbedded({ environment, given, logger });
  stopOnSignals({
    // A signal during the start lets it finish, then stops it: there is no half-started state to clean up.
    stop: async () => {
      await (await starting).close();
    },
    logger,
  });
  printReady(await starting);
}
