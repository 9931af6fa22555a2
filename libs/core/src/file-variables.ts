import { CONFIG_VARIABLES } from "./config.js";

/**
 * The environment with each variable that is given as a file, `NAME_FILE=/path`, filled in from there, so that a secret
 * need not stand in the environment. White space at the end of a file does not count. What cannot be filled in (both
 * are given, the file is empty or cannot be read) is left as it is, and `parseConfig` lists it with every other problem.
 * @param readText answers the text of a file; throws where it cannot be read
 */
export function fillFromFiles<E extends Readonly<Record<string, string | undefined>>>(
  environment: E,
  readText: (path: string) => string,
): E {
  const filled: Record<string, string | undefined> = { ...environment };
  for (const name of CONFIG_VARIABLES) {
    const path = environment[`${name}_FILE`] ?? "";
    if (path === "" || (environment[name] ?? "") !== "") continue;
    const text = textOf(path, readText);
    if (text === "") continue;
    filled[name] = text;
    Reflect.deleteProperty(filled, `${name}_FILE`);
  }
  return filled as E;
}

/** Nothing where the file cannot be read. */
function textOf(path: string, readText: (path: string) => string): string {
  try {
    return readText(path).trimEnd();
  } catch {
    return "";
  }
}
