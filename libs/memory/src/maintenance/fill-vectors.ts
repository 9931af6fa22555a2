import { EspalierError, LIMITS, type NodeFilter } from "#core";
import { throwIfAborted } from "#scoring";
import type { Memory } from "../memory.js";
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
 * a killed run stopped. `onStored` hears of each page. Answers how many were stored.
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
  let stored = 0;
  for (let pages = Math.ceil(memory.nodes / LIMITS.cacheKeys) + 1; pages > 0; pages -= 1) {
    throwIfAborted(signal);
    const missing = await services.vectors.missing(scope, read, { filter: EVERYTHING }, LIMITS.cacheKeys);
    if (missing.length === 0) return stored;
    const texts = missing.map(({ text }) => text);
    const { embeddings } = await embedder.embed(texts, { signal, cache });
    const points = embeddings.flatMap((embedding, index) => {
      const state = missing[index];
      return state === undefined ? [] : [{ id: state.id, born: state.born, field, model, embedding }];
    });
    await services.vectors.upsert(scope, points);
    stored += points.length;
    onStored(points.length);
  }
  throw new EspalierError("internal", "The vector store keeps asking for vectors that it was given.", {
    details: { memory: memory.id, field, model },
  });
}
