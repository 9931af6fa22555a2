import type { MemoryScope } from "#core";
import type { MemoryServices, RunContext } from "../services.js";
import { declaredFields } from "./declared-fields.js";
import { fillVectors } from "./fill-vectors.js";
import { indexField } from "./index-field.js";

/** What the batch lane did. */
export interface EmbedFieldsResult {
  readonly fields: readonly string[];
  /** Vectors stored; 0 when a query or an earlier run had computed them. */
  readonly embedded: number;
}

/**
 * Brings the declared attribute fields of a memory up to its head: vectors for their texts, and an index of their terms.
 * Queries do not depend on it, they compute what is missing; it only spares them the wait. Where trees and vectors lie apart
 * the fields are only tracked: the outbox brings their texts to the score workers. Repeats safely.
 * `progress` counts field texts.
 */
export async function embedFields(
  services: MemoryServices,
  scope: MemoryScope,
  context: RunContext = {},
): Promise<EmbedFieldsResult> {
  const memory = await services.tree.getMemory(scope);
  const declared = declaredFields(memory, await services.tree.schema(scope));
  const total = declared.reduce((sum, { count }) => sum + count, 0);
  let embedded = 0;
  let before = 0;
  for (const { field, count } of declared) {
    await indexField(services, scope, field, context);
    if (services.apart !== undefined) {
      await services.apart.outbox.track(scope, memory.embeddingModel, field);
      continue;
    }
    const filling = { memory, model: memory.embeddingModel, field };
    embedded += await fillVectors(services, filling, context, (stored) => {
      context.progress?.(Math.min(total, before + stored), total);
    });
    before += count;
    context.progress?.(Math.min(total, before), total);
  }
  return { fields: declared.map(({ field }) => field), embedded };
}
