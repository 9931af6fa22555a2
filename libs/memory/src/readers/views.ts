import { LRUCache } from "lru-cache";
import { LIMITS } from "#core";
import type { MemoryServices } from "../services.js";
import type { Snapshot } from "./snapshot.js";

/** Fields that a view knows to be complete. */
const COMPLETE_FIELDS = 1_000;

/** What the queries of a memory at one revision find out for one another. Stores keep what they know by its identity. */
export class View {
  readonly #complete = new Set<string>();

  /** Whether the field had a vector for every text. */
  isComplete(field: string): boolean {
    return this.#complete.has(field);
  }

  complete(field: string): void {
    if (this.#complete.size < COMPLETE_FIELDS) this.#complete.add(field);
  }
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
    const view = new View();
    this.#views.set(key, view);
    return view;
  }
}
