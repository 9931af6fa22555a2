import type { Config } from "#core";
import { CommandError } from "./command-error.js";

/**
 * Waits for a server that starts to listen.
 * @throws CommandError, instead of the system's error, naming the port or address that cannot be had and what sets it
 */
export async function listening<T>(
  starting: Promise<T>,
  config: Pick<Config, "host" | "port" | "metricsPort">,
): Promise<T> {
  try {
    return await starting;
  } catch (error) {
    const advice = adviceOn(error, config);
    throw advice === undefined ? error : new CommandError(advice, { cause: error });
  }
}

function adviceOn(error: unknown, config: Pick<Config, "host" | "port" | "metricsPort">): string | undefined {
  if (!(error instanceof Error) || !("code" in error)) return undefined;
  const port = "port" in error ? Number(error.port) : config.port;
  const own = port === config.metricsPort && port !== config.port;
  const setting = own ? "ESPALIER_METRICS_PORT=N" : "--port N or ESPALIER_PORT=N (0 takes any free one)";
  switch (error.code) {
    case "EADDRINUSE":
      return `Port ${port} is taken by another process: end that one, or choose another port with ${setting}.`;
    case "EACCES":
      return `Port ${port} is not for this user to listen on: choose one over 1023 with ${setting}.`;
    case "EADDRNOTAVAIL":
    case "ENOTFOUND":
      return `This machine has no address ${config.host}: set ESPALIER_HOST to one that it has, 127.0.0.1 for itself only.`;
    default:
      return undefined;
  }
}
