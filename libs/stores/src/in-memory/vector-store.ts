import { EspalierError, fieldText, type MemoryScope, type NodeFilter, roundRelevance } from "#core";
import type { Fingerprint, PointRef, VectorPoint, VectorRead, VectorStore } from "#memory";
import type { Ranking, StateRef } from "#scoring";
import { byRank } from "../best-first.js";
import { fingerprintOf } from "../point-fingerprint.js";
import { isInFilter, keyOfState } from "./filter.js";
import { keyOfScope, liveStates, stateKey, type Tables } from "./tables.js";

/** Vectors as an array: every read looks at every point. */
export class InMemoryVectorStore implements VectorStore {
  constructor(private readonly tables: Tables) {}

  async scores(
    scope: MemoryScope,
    read: VectorRead,
    vector: Float32Array,
    states: readonly StateRef[],
  ): Promise<Float64Array> {
    this.tables.find(scope);
    const points = pointsOf(this.tables.pointsOf(scope), read, vector);
    return Float64Array.from(states, (state) => {
      const point = points.get(stateKey(state));
      return point === undefined ? Number.NaN : cosine(vector, point.embedding.vector);
    });
  }

  async topK(
    scope: MemoryScope,
    read: VectorRead,
    vector: Float32Array,
    filter: NodeFilter,
    { limit }: { readonly limit: number; readonly exact: boolean },
  ): Promise<Ranking> {
    const stored = this.tables.find(scope);
    const points = pointsOf(this.tables.pointsOf(scope), read, vector);
    const rows = liveStates(stored, read.revision)
      .filter((state) => isInFilter(state, filter))
      .flatMap((state) => {
        const point = points.get(stateKey(state));
        if (point === undefined) return [];
        return [{ key: keyOfState(state), value: roundRelevance(cosine(vector, point.embedding.vector)) }];
      })
      .filter(({ value }) => value > 0)
      .sort((left, right) => byRank({ ...left, path: left.key.pathKey }, { ...right, path: right.key.pathKey }))
      .slice(0, limit);
    return { rows, approximate: false };
  }

  async missing(
    scope: MemoryScope,
    read: VectorRead,
    of: { readonly filter: NodeFilter } | { readonly states: readonly StateRef[] },
    limit: number,
  ): Promise<readonly (StateRef & { readonly text: string })[]> {
    const stored = this.tables.find(scope);
    const points = pointsOf(this.tables.pointsOf(scope), read, undefined);
    const named = "states" in of ? new Set(of.states.map(stateKey)) : undefined;
    return liveStates(stored, read.revision)
      .filter((state) => ("filter" in of ? isInFilter(state, of.filter) : named?.has(stateKey(state))))
      .filter((state) => !points.has(stateKey(state)))
      .map((state) => ({ id: state.id, born: state.born, text: fieldText(state, read.field) ?? "" }))
      .filter(({ text }) => text !== "")
      .slice(0, limit);
  }

  async upsert(scope: MemoryScope, points: readonly VectorPoint[]): Promise<void> {
    this.tables.checkOpen();
    const stored = this.tables.memories.get(keyOfScope(scope));
    if (stored === undefined) return;
    const states = new Set(stored.states.map(stateKey));
    const known = points.filter((point) => states.has(stateKey(point)));
    const before = this.tables.pointsOf(scope);
    checkDimensions(before, known);
    const replaced = new Set(known.map(pointKey));
    const kept = before.filter((point) => !replaced.has(pointKey(point)));
    this.tables.setPoints(scope, [...kept, ...structuredClone(known)]);
  }

  async deleteFormer(scope: MemoryScope): Promise<number> {
    const { embeddingModel, nextEmbeddingModel } = this.tables.find(scope).memory;
    const before = this.tables.pointsOf(scope);
    const kept = before.filter(({ model }) => model === embeddingModel || model === nextEmbeddingModel);
    this.tables.setPoints(scope, kept);
    return before.length - kept.length;
  }

  async fingerprint(scope: MemoryScope, model: string): Promise<Fingerprint> {
    const stored = this.tables.find(scope);
    const ends = new Map(stored.states.map((state) => [stateKey(state), state.died]));
    const points = this.tables.pointsOf(scope).filter((point) => point.model === model);
    return fingerprintOf(
      points.map(({ id, born, field }) => {
        const died = ends.get(stateKey({ id, born })) ?? Infinity;
        return { id, born, field, ...(died !== Infinity && { died }) };
      }),
    );
  }
}

/** Vectors of one set have one length. @throws EspalierError `model_dimension` */
export function checkDimensions(stored: readonly VectorPoint[], points: readonly VectorPoint[]): void {
  const lengths = new Map(stored.map((point) => [setKey(point), point.embedding.vector.length]));
  for (const point of points) {
    const received = point.embedding.vector.length;
    const expected = lengths.get(setKey(point)) ?? received;
    checkLength(point.model, expected, received);
    lengths.set(setKey(point), expected);
  }
}

function checkLength(model: string, expected: number, received: number): void {
  if (expected === received) return;
  throw new EspalierError(
    "model_dimension",
    `The vectors of ${model} have ${expected} numbers, this one ${received}.`,
    {
      details: { model, expected, received },
    },
  );
}

/** The points that a read is about, by state. */
function pointsOf(
  stored: readonly VectorPoint[],
  { model, field }: VectorRead,
  vector: Float32Array | undefined,
): ReadonlyMap<string, VectorPoint> {
  const points = stored.filter((point) => point.model === model && point.field === field);
  const length = points[0]?.embedding.vector.length;
  if (length !== undefined && vector !== undefined) checkLength(model, length, vector.length);
  return new Map(points.map((point) => [stateKey(point), point]));
}

const setKey = ({ model, field }: VectorPoint): string => JSON.stringify([model, field]);
/** Names a point within its memory. */
export const pointKey = (point: PointRef): string => JSON.stringify([point.model, point.field, point.id, point.born]);

function cosine(left: Float32Array, right: Float32Array): number {
  let [product, leftSquares, rightSquares] = [0, 0, 0];
  for (const [index, value] of left.entries()) {
    const other = right[index] ?? 0;
    product += value * other;
    leftSquares += value * value;
    rightSquares += other * other;
  }
  return product / Math.sqrt(leftSquares * rightSquares);
}
