import { LRUCache } from "lru-cache";
import { LIMITS } from "#core";
import type { Snapshot } from "./snapshot.js";

/**
 * Which fields had a vector for every text at which revision. Vectors are only removed when a memory leaves a model, which
 * changes its `updatedAt`.
 */
export class CompleteFields {
  readonly #known = new LRUCache<string, true>({ max: LIMITS.cachedQueries });

  has(snapshot: Snapshot, field: string): boolean {
    return this.#known.has(keyOf(snapshot, field));
  }

  add(snapshot: Snapshot, field: string): void {
    this.#known.set(keyOf(snapshot, field), true);
  }
}

function keyOf({ scope, memory, revision }: Snapshot, field: string): string {
  return [scope.memory, revision, memory.updatedAt, memory.embeddingModel, field].join("\n");
}
