import type { FirstKey } from "../../api/src/auth/admin-key.js";
import { print } from "./output.js";

/** Says on stdout that a server answers; before it, at the first start, the key that is shown once. */
export function printReady({ url, key }: { readonly url: string; readonly key: FirstKey }): void {
  if (key.created !== undefined) print(`admin key (shown once, kept in ${key.file}): ${key.created}`);
  print(`espalier ready url=${url}`);
}
