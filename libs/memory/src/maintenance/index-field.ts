import type { MemoryScope } from "#core";
import { throwIfAborted } from "#scoring";
import type { MemoryServices, RunContext } from "../services.js";

/**
 * Indexes an attribute field of a memory, once, in bounded pages; the memory can be written to meanwhile. Goes on where a
 * call that ended early stopped. O(states of the memory) the first time, one read later.
 * @throws EspalierError `memory_not_found`, `store_unavailable`, `cancelled`
 */
export async function indexField(
  { lexical }: Pick<MemoryServices, "lexical">,
  scope: MemoryScope,
  field: string,
  { signal }: RunContext = {},
): Promise<void> {
  let isWhole = await lexical.indexed(scope, field);
  while (!isWhole) {
    throwIfAborted(signal);
    isWhole = await lexical.indexPage(scope, field);
  }
}
