import { LRUCache } from "lru-cache";
import { LIMITS } from "#core";
import type { MemoryServices } from "../services.js";
import type { Snapshot } from "./snapshot.js";

/** What the queries of a memory at one revision find out for one another. Stores keep what they know by its identity. */
export interface View {
  /** Fields that had a vector for every text. */
  readonly complete: Set<string>;
}

/**
 * One view for each memory and revision that is read. Vectors are only removed when a memory leaves a model, which changes its
 * `updatedAt`; those that lie apart can be lost, so that a view of them lasts for LIMITS.lostPointsMs only.
 */
export class Views {
  readonly #views: LRUCache<string, View>;

  constructor({ apart, clock }: Pick<MemoryServices, "apart" | "clock">) {
    const life =
      apart === undefined ? {} : { ttl: LIMITS.lostPointsMs, ttlResolution: 0, ttlAutopurge: true, perf: clock };
    this.#views = new LRUCache({ max: LIMITS.cachedQueries, ...life });
  }

  clear(): void {
    this.#views.clear();
  }

  of({ scope, memory, revision }: Snapshot): View {
    const key = [scope.tenant, scope.memory, revision, memory.updatedAt, memory.embeddingModel].join("\n");
    const known = this.#views.get(key);
    if (known !== undefined) return known;
    const view = { complete: new Set<string>() };
    this.#views.set(key, view);
    return view;
  }
}
