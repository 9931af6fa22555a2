import type { MemorySchema } from "#memory";
import { openClient, type ConnectionOptions } from "../client/connection.js";
import { requireMemory } from "../client/find-memory.js";
import { print, printJson, table } from "../output.js";

export interface SchemaOptions extends ConnectionOptions {
  readonly json?: true;
}

/** `espalier schema MEMORY`: the names that queries on it can use, with how often they occur. */
export async function schema(memoryName: string, options: SchemaOptions): Promise<void> {
  const client = openClient(options, process.env);
  const memory = await requireMemory(client, memoryName);
  const found = await client.call<MemorySchema>(`/v1/memories/${memory.id}/schema`);
  if (options.json === true) printJson(found);
  else if (found.types.length === 0) print("empty: nothing has been inserted yet");
  else {
    print(table(["type", "nodes", "below", "attributes", "metadata"], linesOf(found)));
  }
}

function linesOf({ types, relations }: MemorySchema): string[][] {
  return types.map(({ type, count, attributes, metadata }) => [
    type,
    String(count),
    relations
      .filter(({ child }) => child === type)
      .map(({ parent }) => (parent === "Memory" ? "the root" : parent))
      .join(", "),
    names(attributes),
    names(metadata),
  ]);
}

function names(summaries: MemorySchema["types"][number]["attributes"]): string {
  return summaries.map(({ name, kinds }) => `${name} (${Object.keys(kinds).join(" or ")})`).join(", ");
}
