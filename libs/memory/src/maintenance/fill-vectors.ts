import { EspalierError, LIMITS, type NodeFilter, toEspalierError } from "#core";
import { isRefusedText, stateKey, throwIfAborted } from "#scoring";
import type { Memory } from "../memory.js";
import type { VectorPoint } from "../ports/vector-store.js";
import type { MemoryServices, RunContext } from "../services.js";

/** Every node of a memory. */
const EVERYTHING: NodeFilter = { scope: { kind: "descendants", of: [""] } };

/** What is to be complete: one field of all nodes that were live at a memory's head, under a model. */
export interface Filling {
  readonly memory: Memory;
  readonly model: string;
  readonly field: string;
}

/**
 * Computes and stores the vectors that a field lacks, page by page and through the tenant's cache, so that it goes on where
 * a killed run stopped. Texts that the model refuses are left without one. `onStored` hears of each page. Answers how many
 * were stored.
 */
export async function fillVectors(
  services: MemoryServices,
  { memory, model, field }: Filling,
  { signal }: RunContext,
  onStored: (vectors: number) => void,
): Promise<number> {
  const scope = { tenant: memory.tenant, memory: memory.id };
  const read = { revision: memory.revision, model, field };
  const embedder = await services.embeddingModels.get(model);
  const cache = services.caches.embeddings(memory.tenant);
  const refused = new Set<string>();
  let stored = 0;
  for (let pages = Math.ceil(memory.nodes / LIMITS.cacheKeys) + 1; pages > 0; pages -= 1) {
    throwIfAborted(signal);
    // The store goes on to name those that were refused.
    const limit = LIMITS.cacheKeys + refused.size;
    const page = await services.vectors.missing(scope, read, { filter: EVERYTHING }, limit);
    const missing = page.filter((state) => !refused.has(stateKey(state)));
    if (missing.length === 0) return stored;
    const texts = missing.map(({ text }) => text);
    const { outcomes } = await embedder.embedEach(texts, { signal, cache });
    const points = missing.flatMap((state, index): readonly VectorPoint[] => {
      const outcome = outcomes[index];
      if (outcome !== undefined && !(outcome instanceof EspalierError)) {
        return [{ id: state.id, born: state.born, field, model, embedding: outcome }];
      }
      if (outcome === undefined || !isRefusedText(outcome)) throw toEspalierError(outcome);
      refused.add(stateKey(state));
      return [];
    });
    await services.vectors.upsert(scope, points);
    stored += points.length;
    onStored(points.length);
  }
  throw new EspalierError("internal", "The vector store keeps asking for vectors that it was given.", {
    details: { memory: memory.id, field, model },
  });
}
