import type { MemoryScope } from "#core";
import type { Fingerprint, PointInventory, StoredPoint, VectorPoint, VectorRead, VectorStore } from "#memory";
import type { StateRef } from "#scoring";
import { leftModel } from "../distributed/left-model.js";
import type { PointLedger } from "../distributed/point-ledger.js";
import { fingerprintOf } from "../point-fingerprint.js";
import { keyOfScope, type StoredVector, type Tables } from "./tables.js";
import { InMemoryVectorStore, pointKey } from "./vector-store.js";

/** Vectors that lie apart from the trees: what they know of a state is what they were last told. */
export class InMemoryPoints extends InMemoryVectorStore implements VectorStore, PointInventory {
  constructor(
    private readonly apart: Tables,
    private readonly ledger: PointLedger,
  ) {
    super(apart);
  }

  override async missing(
    scope: MemoryScope,
    read: VectorRead,
    of: Parameters<VectorStore["missing"]>[2],
    limit: number,
  ): ReturnType<VectorStore["missing"]> {
    if ("states" in of) return super.missing(scope, read, of, limit);
    const { points } = await this.ledger.pending(scope, read, { filter: of.filter, limit });
    return points.map(({ id, born, text }) => ({ id, born, text }));
  }

  override async upsert(scope: MemoryScope, points: readonly VectorPoint[]): Promise<void> {
    await super.upsert(scope, points);
    const models = Map.groupBy(points, ({ model }) => model);
    for (const [model, named] of models) await this.refresh(scope, model, named);
  }

  override async deleteFormer(scope: MemoryScope): Promise<number> {
    const deleted = await super.deleteFormer(scope);
    await this.ledger.untrack(scope);
    return deleted;
  }

  override async fingerprint(scope: MemoryScope, model: string): Promise<Fingerprint> {
    this.apart.find(scope);
    return fingerprintOf(this.#of(scope, model).map(toldOf));
  }

  async points(
    scope: MemoryScope,
    model: string,
    { after, limit }: { readonly after?: string; readonly limit: number },
  ): ReturnType<PointInventory["points"]> {
    this.apart.checkOpen();
    const rest = this.#of(scope, model)
      .sort((left, right) => (pointKey(left) < pointKey(right) ? -1 : 1))
      .filter((point) => after === undefined || pointKey(point) > after);
    const page = rest.slice(0, limit);
    const last = page.at(-1);
    return { points: page.map(toldOf), ...(rest.length > limit && last !== undefined && { next: pointKey(last) }) };
  }

  async remove(
    scope: MemoryScope,
    model: string,
    points: readonly (StateRef & { readonly field: string })[],
  ): Promise<void> {
    this.apart.checkOpen();
    const removed = new Set(points.map(({ id, born, field }) => pointKey({ id, born, field, model })));
    this.apart.setPoints(
      scope,
      this.apart.pointsOf(scope).filter((point) => !removed.has(pointKey(point))),
    );
  }

  async refresh(
    scope: MemoryScope,
    model: string,
    points: readonly (StateRef & { readonly field: string })[],
  ): Promise<void> {
    this.apart.checkOpen();
    if (!this.apart.memories.has(keyOfScope(scope))) return;
    const sources = await this.ledger.sources(scope, points);
    const told = new Map(sources.map((source) => [pointKey({ ...source, model }), source.died]));
    const changed: StoredPoint[] = [];
    const stored = this.apart.pointsOf(scope).map(({ died: before, ...point }): StoredVector => {
      const key = pointKey(point);
      if (!told.has(key)) return { ...point, ...(before !== undefined && { died: before }) };
      const died = told.get(key);
      const now = { ...point, ...(died !== undefined && { died }) };
      changed.push(toldOf(now));
      return now;
    });
    this.apart.setPoints(scope, stored);
    const settlement = await this.ledger.settle(scope, model, changed);
    if (settlement === "settled") return;
    await this.remove(scope, model, changed);
    if (settlement === "left") throw leftModel(scope, model);
  }

  async areLost(scope: MemoryScope): Promise<boolean> {
    const { model, points } = await this.ledger.witnesses(scope);
    const stored = new Map(this.#of(scope, model).map((point) => [pointKey(point), point.died]));
    return points.some((point) => {
      const key = pointKey({ ...point, model });
      return !stored.has(key) || (point.died !== undefined && stored.get(key) !== point.died);
    });
  }

  async purge(scope: MemoryScope): Promise<number> {
    this.apart.checkOpen();
    const { length } = this.apart.pointsOf(scope);
    this.apart.setPoints(scope, []);
    return length;
  }

  #of(scope: MemoryScope, model: string): StoredVector[] {
    return this.apart.pointsOf(scope).filter((point) => point.model === model);
  }
}

function toldOf({ id, born, field, died }: StoredVector): StoredPoint {
  return { id, born, field, ...(died !== undefined && { died }) };
}
