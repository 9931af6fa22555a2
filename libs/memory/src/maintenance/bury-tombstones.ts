import { LIMITS } from "#core";
import type { ApartServices } from "../outbox/apart-services.js";

/** Deleted memories of one look. */
const TOMBSTONES = 100;

/**
 * Looks once more after memories that were deleted `idleMs` ago: a deletion that was cut short is finished, and a point that
 * a writer stored after the deletion, and died before it could take it back, is removed. Only then are they forgotten. A
 * deletion that is under way is left alone. At most LIMITS.pageItems a call; answers how many memories were buried.
 */
export async function buryTombstones({ apart }: ApartServices, idleMs: number = LIMITS.tombstoneMs): Promise<number> {
  let buried = 0;
  while (buried < LIMITS.pageItems) {
    const tombstones = await apart.outbox.tombstones(TOMBSTONES, idleMs);
    for (const scope of tombstones) {
      await apart.points.purge(scope);
      await apart.outbox.bury(scope);
    }
    buried += tombstones.length;
    if (tombstones.length < TOMBSTONES) break;
  }
  return buried;
}
