import { EspalierError, toEspalierError, type MemoryScope } from "#core";
import type { JobClient, MaintainPayload } from "#jobs";
import { buryTombstones, findDrift } from "#memory";
import type { ApartRuntime } from "./apart-runtime.js";

/** Memories of one turn: what is done again when its process dies. */
const MEMORIES_PER_TURN = 20;

/** How long after its process died a turn is repeated. */
const TURN_MS = 30_000;

export interface SweepOptions {
  readonly jobs: Pick<JobClient, "submit">;
  /** Each memory is compared about so often. */
  readonly everyMs: number;
  /** Hears of a memory that could not be compared; the sweep goes on. */
  readonly onError: (error: EspalierError, scope: MemoryScope) => void;
}

/**
 * One turn of the comparison of the stores, if one is due: finishes deletions, counts what differs in a page of memories,
 * notes it for the metrics and has it repaired by jobs. True if the sweep goes on.
 * @throws EspalierError `store_unavailable`, `queue_unavailable`: the page is repeated then
 */
export async function sweepMemories(apart: ApartRuntime, options: SweepOptions): Promise<boolean> {
  const { services, background } = apart;
  await buryTombstones(services);
  return background.sweeps.turn({ everyMs: options.everyMs, lockMs: TURN_MS }, async (after) => {
    const page = await services.apart.outbox.memories({
      limit: MEMORIES_PER_TURN,
      ...(after !== undefined && { after }),
    });
    for (const { scope } of page.memories) await compare(apart, scope, options);
    return page.next;
  });
}

async function compare(apart: ApartRuntime, scope: MemoryScope, options: SweepOptions): Promise<void> {
  try {
    const drift = await findDrift(apart.services, scope);
    await apart.background.sweeps.note(scope, drift);
    const payload: MaintainPayload = { task: "reconcile" };
    if (drift > 0) await options.jobs.submit({ kind: "maintain", ...scope, payload });
  } catch (thrown) {
    const error = toEspalierError(thrown);
    if (error.code === "memory_not_found") return;
    if (error.kind.category === "unavailable") throw error;
    options.onError(error, scope);
  }
}
