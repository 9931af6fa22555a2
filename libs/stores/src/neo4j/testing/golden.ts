import { readFile, writeFile } from "node:fs/promises";

/** The text of a golden file. With `UPDATE_GOLDEN=1` in the environment it is first written as `now`. */
export async function golden(path: string, now: string): Promise<string> {
  if (process.env["UPDATE_GOLDEN"] === "1") await writeFile(path, now);
  return readFile(path, "utf8");
}
