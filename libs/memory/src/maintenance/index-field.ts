import { setImmediate } from "node:timers/promises";
import { EspalierError, fieldText, LIMITS, type MemoryScope } from "#core";
import { termWeights, throwIfAborted } from "#scoring";
import type { FieldTerms } from "../ports/vector-store.js";
import type { MemoryServices, RunContext } from "../services.js";

/**
 * Indexes an attribute field of a memory, once: the term weights of all live states, read in bounded pages. If the head
 * moves meanwhile the store refuses and it begins again. O(texts of the field).
 * @throws EspalierError `revision_conflict` after LIMITS.commitAttempts
 */
export async function indexField(
  services: MemoryServices,
  scope: MemoryScope,
  field: string,
  context: RunContext = {},
): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    if (await services.lexical.indexed(scope, field)) return;
    const { revision } = await services.tree.getMemory(scope);
    const terms = await collectTerms(services, scope, field, context);
    try {
      await services.lexical.index(scope, field, terms, revision);
      return;
    } catch (error) {
      const moved = error instanceof EspalierError && error.code === "revision_conflict";
      if (!moved || attempt >= LIMITS.commitAttempts) throw error;
    }
  }
}

async function collectTerms(
  { tree }: MemoryServices,
  scope: MemoryScope,
  field: string,
  { signal }: RunContext,
): Promise<readonly FieldTerms[]> {
  const terms: FieldTerms[] = [];
  let after: string | undefined;
  do {
    throwIfAborted(signal);
    const page = await tree.scan(scope, { limit: LIMITS.maintenancePageNodes, ...(after !== undefined && { after }) });
    for (const node of page) {
      const text = fieldText(node, field) ?? "";
      if (text !== "") terms.push({ id: node.id, born: node.born, field, weights: termWeights(text) });
    }
    after = page.length < LIMITS.maintenancePageNodes ? undefined : page.at(-1)?.pathKey;
    await setImmediate();
  } while (after !== undefined);
  return terms;
}
