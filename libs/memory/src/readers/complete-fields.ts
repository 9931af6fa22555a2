import { LRUCache } from "lru-cache";
import { LIMITS } from "#core";
import type { MemoryServices } from "../services.js";
import type { Snapshot } from "./snapshot.js";

/**
 * Which fields had a vector for every text at which revision. Vectors are only removed when a memory leaves a model, which
 * changes its `updatedAt`; those that lie apart can be lost, so that this is known of them for LIMITS.lostPointsMs only.
 */
export class CompleteFields {
  readonly #known: LRUCache<string, true>;

  constructor({ apart, clock }: Pick<MemoryServices, "apart" | "clock">) {
    const life = apart === undefined ? {} : { ttl: LIMITS.lostPointsMs, perf: clock };
    this.#known = new LRUCache({ max: LIMITS.cachedQueries, ...life });
  }

  clear(): void {
    this.#known.clear();
  }

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
