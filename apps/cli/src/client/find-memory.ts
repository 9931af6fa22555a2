import { CommandError } from "../command-error.js";
import type { ApiClient, MemoryAnswer, Page } from "./api-client.js";

/** Memories of one name that are told apart in an error. */
const SHOWN = 10;

/**
 * The memory with that name or id. Undefined if none has the name.
 * @throws CommandError if several have it, listing them; if it begins like an id and is none; and what the API answers to
 * an id that it does not know
 */
export async function findMemory(client: ApiClient, nameOrId: string): Promise<MemoryAnswer | undefined> {
  const parameters = new URLSearchParams({ name: nameOrId, limit: String(SHOWN) });
  const { items, nextCursor } = await client.call<Page<MemoryAnswer>>(`/v1/memories?${parameters.toString()}`);
  const [only, ...others] = items;
  if (others.length > 0) throw ambiguous(nameOrId, items, nextCursor !== undefined);
  if (only !== undefined || !nameOrId.startsWith("mem_")) return only;
  if (/^mem_[0-9a-z]{26}$/.test(nameOrId)) return client.call<MemoryAnswer>(`/v1/memories/${nameOrId}`);
  throw new CommandError(
    `${nameOrId} begins like the id of a memory and is none: bin/espalier memories lists them. Other names do not begin with mem_.`,
  );
}

/** As `findMemory`; a memory must have the name. @throws CommandError */
export async function requireMemory(client: ApiClient, nameOrId: string): Promise<MemoryAnswer> {
  const memory = await findMemory(client, nameOrId);
  if (memory !== undefined) return memory;
  throw new CommandError(
    `There is no memory ${nameOrId}: bin/espalier memories lists them, bin/espalier import makes one.`,
  );
}

function ambiguous(name: string, memories: readonly MemoryAnswer[], more: boolean): CommandError {
  const lines = memories.map(({ id, createdAt, nodes }) => `  ${id}  created ${createdAt}, ${nodes} nodes`);
  return new CommandError(
    [
      `Several memories have the name ${name}: give the id of one instead.`,
      ...lines,
      ...(more ? ["  and more"] : []),
    ].join("\n"),
  );
}
