import { parseConfig } from "#core";
import { createLogger } from "#telemetry";
import { openApi } from "../../../api/src/open-api.js";
import { environmentWithPlaces } from "../locations.js";
import { listening } from "../listening.js";
import { printReady } from "../print-ready.js";
import { stopOnSignals } from "../stop-on-signals.js";

/** `espalier api`: the API process, configured by the environment, until a signal. */
export async function api(): Promise<void> {
  const config = parseConfig(environmentWithPlaces(process.env), {
    REDIS_URL: "API and workers share it; `espalier up` brings one of its own",
  });
  const starting = listening(openApi({ ...config, redisUrl: config.redisUrl ?? "" }), config);
  stopOnSignals({
    stop: async () => {
      await (await starting).close();
    },
    logger: createLogger({ level: config.logLevel, process: "api" }),
  });
  const server = await starting;
  printReady({ url: server.url, key: await server.firstKey() });
}
