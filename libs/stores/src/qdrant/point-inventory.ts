import type { MemoryScope } from "#core";
import type { PointInventory, StoredPoint } from "#memory";
import type { StateRef } from "#scoring";
import type { Collection } from "./collections.js";
import { deleteMemoryPoints } from "./delete-points.js";
import { statesOf } from "./filter-conditions.js";
import { namedPoints, pagesOf, present, toldOf } from "./named-points.js";
import { pageOfPoints } from "./scroll-points.js";
import { unlessGone } from "./unless-gone.js";
import type { QdrantParts } from "./vector-store.js";

/** What the relay and the reconciler do to points without their vectors. */
export class QdrantPointInventory implements PointInventory {
  constructor(private readonly parts: QdrantParts) {}

  async points(
    scope: MemoryScope,
    model: string,
    page: { readonly after?: string; readonly limit: number },
  ): Promise<{ readonly points: readonly StoredPoint[]; readonly next?: string }> {
    const collection = await this.parts.collections.find(model);
    return collection === undefined
      ? { points: [] }
      : pageOfPoints(this.parts.connection, collection.name, scope, page);
  }

  async remove(
    scope: MemoryScope,
    model: string,
    points: readonly (StateRef & { readonly field: string })[],
  ): Promise<void> {
    const collection = await this.parts.collections.find(model);
    if (collection === undefined) return;
    for (const of of Map.groupBy(points, ({ field, born }) => JSON.stringify([field, born])).values()) {
      for (const page of pagesOf(of)) await this.#removePage(collection.name, scope, page);
    }
  }

  /**
   * A point that is not there keeps a `vector` row. A `payload` row of it goes: the reconciler then finds the point missing
   * and makes the row that brings it back.
   */
  async refresh(
    scope: MemoryScope,
    model: string,
    points: readonly (StateRef & { readonly field: string })[],
  ): Promise<void> {
    const collection = await this.parts.collections.find(model);
    for (const page of pagesOf(points)) await this.#refreshPage(scope, model, collection, page);
  }

  async areLost(scope: MemoryScope): Promise<boolean> {
    const { connection, collections, ledger } = this.parts;
    const { model, points } = await ledger.witnesses(scope);
    if (points.length === 0) return false;
    const collection = await collections.find(model);
    if (collection === undefined) return true;
    const told = await toldOf(connection, namedPoints(collection, scope, points));
    return points.some(({ died }, index) => {
      const point = told[index];
      // One that says more than it was noted to say is on its way to be noted.
      return point === undefined || (died !== undefined && point.died !== died);
    });
  }

  purge(scope: MemoryScope): Promise<number> {
    return deleteMemoryPoints(this.parts, scope, () => true);
  }

  /** By what the points say they are: one that should not be there may have any id. All of one field and revision. */
  async #removePage(
    collection: string,
    scope: MemoryScope,
    points: readonly (StateRef & { readonly field: string })[],
  ): Promise<void> {
    const [first] = points;
    if (first === undefined) return;
    const filter = { must: statesOf(scope, first, new Set(points.map(({ id }) => id))) };
    await this.parts.connection.send("removing points", (client) => client.delete(collection, { filter, wait: true }));
  }

  async #refreshPage(
    scope: MemoryScope,
    model: string,
    collection: Collection | undefined,
    points: readonly (StateRef & { readonly field: string })[],
  ): Promise<void> {
    const { ledger, payloads } = this.parts;
    const sources = await unlessGone(ledger.sources(scope, points));
    if (sources === undefined) return;
    const isThere = await this.#there(scope, collection, sources);
    const there = sources.filter((_, index) => isThere[index]);
    if (there.length > 0 && !(await payloads.settle(scope, model, collection, there))) return;
    const absent = sources.filter((_, index) => !isThere[index]);
    for (const field of new Set(absent.map((source) => source.field))) {
      await unlessGone(payloads.catchUp(scope, { model, field }, collection));
    }
  }

  async #there(
    scope: MemoryScope,
    collection: Collection | undefined,
    points: readonly StoredPoint[],
  ): Promise<readonly boolean[]> {
    return collection === undefined
      ? points.map(() => false)
      : present(this.parts.connection, namedPoints(collection, scope, points));
  }
}
