import { join } from "node:path";
import { createBodyThreads, type BodyThreads } from "../../apps/api/src/bodies/body-threads.js";

const RESOLVE_SOURCES = join(import.meta.dirname, "../../libs/stores/src/testing/resolve-sources.mjs");

/** The product's threads over the sources as they are: Node strips the types. */
export function bodyThreadsOfSources(): BodyThreads {
  return createBodyThreads([
    "--experimental-transform-types",
    "--conditions=espalier-source",
    `--import=${RESOLVE_SOURCES}`,
  ]);
}
