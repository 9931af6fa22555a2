import type { MemoryAnswer, Page } from "../client/api-client.js";
import { openClient, type ConnectionOptions } from "../client/connection.js";
import { print, printJson, table } from "../output.js";

export interface MemoriesOptions extends ConnectionOptions {
  /** `NAME=VALUE` each; all must hold. */
  readonly label?: readonly string[];
  readonly json?: true;
}

/** The API's longest page. */
const PAGE = "1000";

/** `espalier memories`: all memories, the newest first. */
export async function memories(options: MemoriesOptions): Promise<void> {
  const client = openClient(options, process.env);
  const filters = (options.label ?? []).map((label): [string, string] => {
    const [name = "", ...value] = label.split("=");
    return [`label.${name}`, value.join("=")];
  });
  const items: MemoryAnswer[] = [];
  let cursor: string | undefined;
  do {
    const parameters = new URLSearchParams([...filters, ["limit", PAGE]]);
    if (cursor !== undefined) parameters.set("cursor", cursor);
    const page = await client.call<Page<MemoryAnswer>>(`/v1/memories?${parameters.toString()}`);
    items.push(...page.items);
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  if (options.json === true) printJson({ items });
  else if (items.length === 0) print("no memories");
  else print(table(["id", "name", "structure", "nodes", "revision", "created", "labels"], items.map(lineOf)));
}

function lineOf({ id, name, structure, nodes, revision, createdAt, labels }: MemoryAnswer): string[] {
  const named = Object.entries(labels).map(([label, value]) => `${label}=${value}`);
  return [id, name, structure, String(nodes), String(revision), createdAt, named.join(" ")];
}
