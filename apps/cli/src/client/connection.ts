import { readFileSync } from "node:fs";
import { dataFolder, readRunning } from "../embedded/data-folder.js";
import { CommandError } from "../command-error.js";
import { setting } from "../locations.js";
import { ApiClient } from "./api-client.js";

/** Options that every client command has. */
export interface ConnectionOptions {
  readonly url?: string;
  readonly key?: string;
  readonly data?: string;
}

/** Where the API is and with which key: as given, else from the environment, else from the data folder of an `up`. */
export function connectionOf(
  options: ConnectionOptions,
  environment: NodeJS.ProcessEnv,
): { readonly folder: string; readonly url: string | undefined; readonly key: string | undefined } {
  const folder = dataFolder(options.data ?? setting(environment, "ESPALIER_DATA") ?? ".espalier");
  return {
    folder: folder.path,
    url: options.url ?? setting(environment, "ESPALIER_URL") ?? readRunning(folder)?.url,
    key: options.key ?? setting(environment, "ESPALIER_KEY") ?? keyIn(folder.keyFile),
  };
}

/** A client for that connection. @throws CommandError if nothing says where the API is */
export function openClient(options: ConnectionOptions, environment: NodeJS.ProcessEnv): ApiClient {
  const { folder, url, key } = connectionOf(options, environment);
  if (url === undefined) {
    throw new CommandError(
      `No running Espalier was found in the data folder ${folder}: start it with bin/espalier up, or name another folder with --data, or a server with --url (and its key with --key).`,
    );
  }
  if (!URL.canParse(url)) throw new CommandError(`${url} is no URL: give one like http://127.0.0.1:7700.`);
  return new ApiClient(url, key);
}

function keyIn(file: string): string | undefined {
  try {
    const key = readFileSync(file, "utf8").trim();
    return key === "" ? undefined : key;
  } catch {
    return undefined;
  }
}
