import { ConfigError, EspalierError, parseConfig, type Config } from "#core";
import { checkEntailer } from "#models";

/**
 * The configuration of a server on this machine, with everything that is wrong with it told before anything starts.
 * @throws ConfigError
 */
export async function checkedConfig(environment: NodeJS.ProcessEnv): Promise<Config> {
  const config = parseConfig(environment);
  try {
    if (config.entailment !== undefined) await checkEntailer(config.entailment, config);
  } catch (error) {
    if (!(error instanceof EspalierError)) throw error;
    throw new ConfigError([`ENTAILMENT_MODEL cannot be used. ${error.message}`]);
  }
  return config;
}
