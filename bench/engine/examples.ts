import { readFile } from "node:fs/promises";

/** The example memories by file name (without `.json`). */
export const EXAMPLES = ["acl-trip", "todo-list", "meal-plan"] as const;
export type Example = (typeof EXAMPLES)[number];

/** The body of an insert. */
export async function readExample(name: Example): Promise<{ readonly tree: unknown }> {
  return JSON.parse(await readFile(`examples/${name}.json`, "utf8")) as { readonly tree: unknown };
}
