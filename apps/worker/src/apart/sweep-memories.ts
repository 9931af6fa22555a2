import { EspalierError, toEspalierError, type MemoryScope } from "#core";
import type { JobClient, MaintainPayload, Sweeps } from "#jobs";
import { buryTombstones, findDrift } from "#memory";
import type { ApartRuntime } from "./apart-runtime.js";

/** Memories of one turn: what is done again when its process dies. */
const MEMORIES_PER_TURN = 20;

/** How long after its process died a turn is repeated. */
const TURN_MS = 30_000;

/** Failures in a row after which a memory is passed over: the others are not to wait for it. */
const MEMORY_FAILURES = 5;

export interface SweepOptions {
  readonly jobs: Pick<JobClient, "submit">;
  /** Each memory is compared about so often. */
  readonly everyMs: number;
  /** How long a deleted memory is remembered. */
  readonly tombstoneMs: number;
  /** Hears of a memory that could not be compared; the sweep goes on. */
  readonly onError: (error: EspalierError, scope: MemoryScope) => void;
}

/** What the comparison of the stores needs. */
type SweepRuntime = Pick<ApartRuntime, "services"> & {
  readonly background: { readonly sweeps: Pick<Sweeps, "turn" | "note" | "keep"> };
};

/**
 * The comparison of the stores. Each call is a turn, if one is due: it ends deletions, counts what differs in a page of
 * memories, notes it for the metrics and has it repaired by jobs. True if the sweep goes on. A turn throws
 * `store_unavailable` and `queue_unavailable`: its page is repeated then.
 */
export function sweepMemories(apart: SweepRuntime, options: SweepOptions): () => Promise<boolean> {
  const { services, background } = apart;
  const comparison = new MemoryComparison(apart, options);
  return async () => {
    await buryTombstones(services, options.tombstoneMs);
    return background.sweeps.turn({ everyMs: options.everyMs, lockMs: TURN_MS }, async (after) => {
      const page = await services.apart.outbox.memories({
        limit: MEMORIES_PER_TURN,
        ...(after !== undefined && { after }),
      });
      for (const { scope } of page.memories) await comparison.of(scope);
      return page.next;
    });
  };
}

/** Compares memories one by one. What is not known of one now leaves what was noted of it. */
class MemoryComparison {
  /** How often the comparison of a memory failed in this process since it last ended, by tenant and memory. */
  readonly #failures = new Map<string, number>();

  constructor(
    private readonly apart: SweepRuntime,
    private readonly options: SweepOptions,
  ) {}

  async of(scope: MemoryScope): Promise<void> {
    const key = `${scope.tenant}/${scope.memory}`;
    try {
      await this.#compare(scope);
      this.#failures.delete(key);
    } catch (thrown) {
      const error = toEspalierError(thrown);
      const failures = (this.#failures.get(key) ?? 0) + 1;
      const isPassedOver = error.kind.category !== "unavailable" || failures >= MEMORY_FAILURES;
      if (isPassedOver) this.#failures.delete(key);
      else this.#failures.set(key, failures);
      if (error.code === "memory_not_found") return;
      if (!isPassedOver) throw error;
      this.options.onError(error, scope);
      await this.apart.background.sweeps.keep(scope);
    }
  }

  async #compare(scope: MemoryScope): Promise<void> {
    const { services, background } = this.apart;
    const drift = await findDrift(services, scope);
    if (drift === undefined) return background.sweeps.keep(scope);
    await background.sweeps.note(scope, drift.repairable + drift.failed);
    const payload: MaintainPayload = { task: "reconcile" };
    if (drift.repairable > 0 || drift.hasFormer)
      await this.options.jobs.submit({ kind: "maintain", ...scope, payload });
  }
}
