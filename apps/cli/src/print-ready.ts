import { print } from "./output.js";

/** Says on stdout that a server answers; before it, at the first start, the key that is shown once. */
export function printReady(server: {
  readonly url: string;
  readonly createdKey: string | undefined;
  readonly keyFile: string;
}): void {
  if (server.createdKey !== undefined) {
    print(`admin key (shown once, kept in ${server.keyFile}): ${server.createdKey}`);
  }
  print(`espalier ready url=${server.url}`);
}
