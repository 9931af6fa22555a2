import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { fillFromFiles } from "#core";

/** The checkout: four folders above this file, in the sources and in dist alike once `dist/` is taken off. */
const here = resolve(import.meta.dirname, "../../..");

/** Root of the checkout, whether this runs from the sources or from dist. */
export const ROOT = here.endsWith("/dist") ? resolve(here, "..") : here;

/** A variable of the environment; the empty string counts as unset, as in `parseConfig`. */
export function setting(environment: NodeJS.ProcessEnv, name: string): string | undefined {
  const value = environment[name];
  return value === "" ? undefined : value;
}

/**
 * The environment with variables that are given as files read, and with the places that depend on the checkout filled in,
 * whatever folder a command is called from.
 */
export function environmentWithPlaces(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const filled = fillFromFiles(environment, (path) => readFileSync(path, "utf8"));
  return {
    ...filled,
    ESPALIER_MODELS: resolve(setting(filled, "ESPALIER_MODELS") ?? resolve(ROOT, ".models")),
    ESPALIER_DATA: resolve(setting(filled, "ESPALIER_DATA") ?? ".espalier"),
  };
}
