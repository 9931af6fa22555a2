import { LRUCache } from "lru-cache";
import { LIMITS, type MemoryScope } from "#core";
import { reconcile } from "../maintenance/reconcile.js";
import type { ApartServices } from "../outbox/apart-services.js";
import type { Views } from "./views.js";

export interface LostPointsOptions {
  /** What it knows is of the time before. */
  readonly views: Pick<Views, "clear">;
  /** Hears of a memory whose points were lost: others are likely to have lost theirs. */
  readonly onLost: (scope: MemoryScope) => void;
}

interface Look {
  readonly at: number;
  readonly done: Promise<void>;
}

/**
 * Looks, before a query reads points, whether those of its memory are there at all: a vector store that was emptied, or put
 * back to what it was, answers what it has, and nobody would know. If they are not, the memory is compared at once; then the
 * query knows what is missing and computes it. A memory is looked at again after LIMITS.lostPointsMs: one read of each side.
 */
export class LostPoints {
  readonly #looks = new LRUCache<string, Look>({ max: LIMITS.cachedQueries });

  constructor(
    private readonly services: ApartServices,
    private readonly options: LostPointsOptions,
  ) {}

  /** Queries of a memory that come together share one look. @throws EspalierError `memory_not_found`, `store_unavailable` */
  mend(scope: MemoryScope): Promise<void> {
    const key = `${scope.tenant}/${scope.memory}`;
    const now = this.services.clock.now();
    const last = this.#looks.get(key);
    if (last !== undefined && now - last.at < LIMITS.lostPointsMs) return last.done;
    const done = this.#look(scope);
    this.#looks.set(key, { at: now, done });
    done.catch(() => this.#looks.delete(key));
    return done;
  }

  async #look(scope: MemoryScope): Promise<void> {
    if (!(await this.services.apart.points.areLost(scope))) return;
    this.options.onLost(scope);
    try {
      await reconcile(this.services, scope);
    } finally {
      this.options.views.clear();
    }
  }
}
