import { readFile } from "node:fs/promises";
import { extname } from "node:path";
import { EspalierError } from "#core";
import { parseXml, type Structure } from "#memory";
import { CommandError } from "../command-error.js";
import { failureProblem } from "../failure.js";
import { readTranscript, type Transcript } from "./read-transcript.js";

/** A node of a tree file. Only its shape is known here; the server checks what it says. */
export interface ImportNode {
  readonly type?: unknown;
  readonly children?: readonly ImportNode[];
  readonly [member: string]: unknown;
}

/** What a file brings. */
export type ImportContent =
  | { readonly kind: "tree"; readonly roots: readonly ImportNode[] }
  | { readonly kind: "messages"; readonly transcript: Transcript };

/** The structure that a memory made for such a file gets. */
export function structureFor(content: ImportContent): Structure {
  return content.kind === "messages" ? "conversation" : "artifact";
}

/**
 * Reads a file by its ending: `.json` a tree, a list of trees or an insert's body, `.xml` a tree, `.jsonl` or `.ndjson` a chat transcript.
 * @throws CommandError naming the place
 */
export async function readImport(file: string): Promise<ImportContent> {
  const text = await readFile(file, "utf8").catch((error: unknown) => {
    throw new CommandError(`${file} cannot be read (${(error as Error).message}): check the path.`, { cause: error });
  });
  const ending = extname(file).toLowerCase();
  if (ending === ".xml") return { kind: "tree", roots: readXml(text, file) };
  if (ending === ".jsonl" || ending === ".ndjson") return { kind: "messages", transcript: readTranscript(text, file) };
  if (ending === ".json") return { kind: "tree", roots: readTrees(text, file) };
  throw new CommandError(
    `${file} has no known ending: name a tree .json or .xml, and a chat transcript .jsonl (one message a line).`,
  );
}

/** The server takes no larger XML than fits one insert, so the file is read here. */
function readXml(text: string, file: string): readonly ImportNode[] {
  try {
    return parseXml(text) as unknown as readonly ImportNode[];
  } catch (error) {
    if (!(error instanceof EspalierError)) throw error;
    throw new CommandError(`${file}: ${error.message}`, { cause: error, problem: failureProblem(error) });
  }
}

function readTrees(text: string, file: string): readonly ImportNode[] {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new CommandError(`${file} is not JSON: ${(error as Error).message}.`, { cause: error });
  }
  // The body of an insert is a tree file as well.
  const given = isRecord(value) && !("type" in value) && "tree" in value ? value["tree"] : value;
  const roots: readonly unknown[] = Array.isArray(given) ? given : [given];
  if (roots.length === 0) throw new CommandError(`${file} has no node: give a tree, or a list of trees.`);
  if (!roots.every(isNode)) {
    throw new CommandError(`${file} is not a tree: a node is {"type": …, "attributes": {…}, "children": […]}.`);
  }
  return roots;
}

function isNode(value: unknown): value is ImportNode {
  return isRecord(value) && "type" in value;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
