import { LIMITS, type MemoryScope } from "#core";
import type { StoredPoint } from "#memory";
import type { PointLedger } from "../distributed/point-ledger.js";
import type { Collection } from "./collections.js";
import type { QdrantConnection } from "./connection.js";
import { namedPoints, removePoints, writeEnds } from "./named-points.js";

/** Brings the payload of points in line with the trees. Workers do; until then searches leave out what has ended. */
export class PointPayloads {
  constructor(
    private readonly connection: QdrantConnection,
    private readonly ledger: PointLedger,
  ) {}

  /**
   * Notes the ends of all states of a field whose points are behind. A point that is not there is settled too: its absence is
   * drift, which the reconciler sees and mends.
   */
  async catchUp(
    scope: MemoryScope,
    read: { readonly model: string; readonly field: string },
    collection: Collection | undefined,
  ): Promise<void> {
    for (;;) {
      const { ended } = await this.ledger.standing(scope, read, LIMITS.storePoints);
      if (ended.length === 0 || !(await this.settle(scope, read.model, collection, ended))) return;
      if (ended.length < LIMITS.storePoints) return;
    }
  }

  /** Writes the ends of points and settles them. False if their memory or model is gone: the points are removed. */
  async settle(
    scope: MemoryScope,
    model: string,
    collection: Collection | undefined,
    points: readonly StoredPoint[],
  ): Promise<boolean> {
    if (collection !== undefined) await writeEnds(this.connection, collection, scope, points);
    if ((await this.ledger.settle(scope, model, points)) === "settled") return true;
    if (collection !== undefined) await removePoints(this.connection, namedPoints(collection, scope, points));
    return false;
  }
}
