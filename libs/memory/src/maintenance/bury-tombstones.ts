import { LIMITS } from "#core";
import type { ApartServices } from "../outbox/apart-services.js";

/** Deleted memories of one look. */
const TOMBSTONES = 100;

/**
 * Finishes deletions that were cut short: the points of memories that are gone from the tree are removed from every
 * collection, and only then are the tombstones. At most LIMITS.pageItems a call; answers how many memories were buried.
 */
export async function buryTombstones({ apart }: ApartServices): Promise<number> {
  let buried = 0;
  while (buried < LIMITS.pageItems) {
    const tombstones = await apart.outbox.tombstones(TOMBSTONES);
    for (const scope of tombstones) {
      await apart.points.purge(scope);
      await apart.outbox.bury(scope);
    }
    buried += tombstones.length;
    if (tombstones.length < TOMBSTONES) break;
  }
  return buried;
}
