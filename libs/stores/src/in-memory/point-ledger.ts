import { fieldText, type MemoryScope } from "#core";
import type { StoredPoint } from "#memory";
import { type StateRef, termWeights } from "#scoring";
import type { PendingPage, PointLedger, PointSource, Settlement, Standing } from "../distributed/point-ledger.js";
import { indexedFields } from "./commit.js";
import { isInFilter, keyOfState } from "./filter.js";
import { findState, isCurrent, isRowOf, newRow, rowKey, trackField } from "./outbox-rows.js";
import { keyOfScope, liveStates, type OutboxTables, type StoredRow, type StoredState, type Tables } from "./tables.js";

/** What a vector store apart needs of the trees, over the arrays of the in-memory stores. Terms are counted anew by every call. */
export class InMemoryPointLedger implements PointLedger {
  constructor(
    private readonly tables: Tables,
    private readonly outbox: OutboxTables,
  ) {}

  async memory(scope: MemoryScope): ReturnType<PointLedger["memory"]> {
    const { embeddingModel: model, nextEmbeddingModel: next, revision } = this.tables.find(scope).memory;
    return { model, revision, ...(next !== undefined && { next }) };
  }

  async sources(
    scope: MemoryScope,
    refs: readonly (StateRef & { readonly field: string })[],
  ): Promise<readonly PointSource[]> {
    const stored = this.tables.find(scope);
    return refs.flatMap((ref) => {
      const state = findState(stored, ref);
      return state === undefined ? [] : sourceOf(state, ref.field);
    });
  }

  async pending(
    scope: MemoryScope,
    { model, field, revision }: Parameters<PointLedger["pending"]>[1],
    { filter, after = "", limit }: Parameters<PointLedger["pending"]>[2],
  ): Promise<PendingPage> {
    const stored = this.tables.find(scope);
    trackField(this.outbox, scope, stored, { model, field });
    const rest = liveStates(stored, revision).filter(
      (state) => state.pathKey > after && (filter === undefined || isInFilter(state, filter)),
    );
    const found = this.#waiting(scope, { model, field }, rest);
    const points = found.slice(0, limit);
    const last = points.at(-1);
    return { points, ...(found.length > limit && last !== undefined && { next: last.pathKey }) };
  }

  async pendingAmong(
    scope: MemoryScope,
    read: { readonly model: string; readonly field: string },
    states: readonly StateRef[],
  ): Promise<readonly PointSource[]> {
    const stored = this.tables.find(scope);
    return this.#waiting(
      scope,
      read,
      states.flatMap((ref) => findState(stored, ref) ?? []),
    );
  }

  async standing(
    scope: MemoryScope,
    { model: named, field }: Parameters<PointLedger["standing"]>[1],
    limit: number,
  ): Promise<Standing> {
    const stored = this.tables.find(scope);
    const model = named ?? stored.memory.embeddingModel;
    const isOfMemory = isRowOf(scope);
    const rows = this.outbox.rows.filter((row) => isOfMemory(row) && row.model === model && row.field === field);
    const isTracked = stored.tracked.some((tracked) => tracked.model === model && tracked.field === field);
    return {
      ...{ model, nodes: stored.memory.nodes },
      waits: !isTracked || rows.some(({ task }) => task === "vector"),
      ended: rows
        .filter(({ task }) => task === "payload")
        .slice(0, limit)
        .map(({ id, born }) => ({ id, born, field, ...endOf(findState(stored, { id, born })) })),
    };
  }

  async settle(scope: MemoryScope, model: string, points: readonly StoredPoint[]): Promise<Settlement> {
    this.tables.checkOpen();
    const stored = this.tables.memories.get(keyOfScope(scope));
    if (stored === undefined) return "gone";
    if (!isCurrent(stored, model)) return "left";
    const settled = new Set(points.map((point) => rowKey(scope, { ...point, model })));
    const left = points.flatMap((point): readonly StoredRow[] => {
      const state = findState(stored, point);
      if (state === undefined || endOf(state).died === point.died) return [];
      return [newRow(scope, state, { model, field: point.field, task: "payload" })];
    });
    this.outbox.rows = [...this.outbox.rows.filter((row) => !settled.has(rowKey(row.scope, row))), ...left];
    stored.tracked = stored.tracked.map((tracked) => {
      const witness = points.findLast(({ field }) => tracked.model === model && tracked.field === field);
      return witness === undefined ? tracked : { ...tracked, witness };
    });
    return "settled";
  }

  async witnesses(scope: MemoryScope): Promise<{ readonly model: string; readonly points: readonly StoredPoint[] }> {
    const { memory, tracked } = this.tables.find(scope);
    const model = memory.embeddingModel;
    const rows = new Set(this.outbox.rows.map((row) => rowKey(row.scope, row)));
    const points = tracked.filter((field) => field.model === model).flatMap(({ witness }) => witness ?? []);
    return { model, points: points.filter((point) => !rows.has(rowKey(scope, { ...point, model }))) };
  }

  async untrack(scope: MemoryScope): Promise<void> {
    const stored = this.tables.find(scope);
    const isOfMemory = isRowOf(scope);
    stored.tracked = stored.tracked.filter(({ model }) => isCurrent(stored, model));
    this.outbox.rows = this.outbox.rows.filter((row) => !isOfMemory(row) || isCurrent(stored, row.model));
  }

  async isIndexed(scope: MemoryScope, field: string): Promise<boolean> {
    return indexedFields(this.tables.find(scope)).includes(field);
  }

  async indexedFields(scope: MemoryScope): Promise<readonly string[]> {
    return indexedFields(this.tables.find(scope));
  }

  async indexPage(scope: MemoryScope, field: string): Promise<boolean> {
    const stored = this.tables.find(scope);
    if (indexedFields(stored).includes(field)) return true;
    stored.terms.set(field, new Map());
    trackField(this.outbox, scope, stored, { model: stored.memory.embeddingModel, field });
    return true;
  }

  async statistics(scope: MemoryScope, field: string, terms: readonly string[]): ReturnType<PointLedger["statistics"]> {
    const stored = this.tables.find(scope);
    const { revision } = stored.memory;
    const counted = indexedFields(stored).includes(field) ? liveStates(stored, revision) : [];
    const texts = counted.map((state) => fieldText(state, field) ?? "").filter((text) => text !== "");
    const documents = texts.map(termWeights);
    const frequencies = terms.map((term) => [term, documents.filter((weights) => weights.has(term)).length] as const);
    const known = new Map(frequencies.filter(([, count]) => count > 0));
    return { documents: documents.length, frequencies: known, revision };
  }

  /** Points of those of the states whose row waits for a vector. */
  #waiting(
    scope: MemoryScope,
    { model, field }: { readonly model: string; readonly field: string },
    states: readonly StoredState[],
  ): readonly PointSource[] {
    const rows = this.outbox.rows.filter(({ task }) => task === "vector").map((row) => rowKey(row.scope, row));
    const waiting = new Set(rows);
    return states
      .filter(({ id, born }) => waiting.has(rowKey(scope, { id, born, model, field })))
      .flatMap((state) => sourceOf(state, field));
  }
}

/** A point of a memory that is a state's, if it has a text there. */
function sourceOf(state: StoredState, field: string): readonly PointSource[] {
  const text = fieldText(state, field) ?? "";
  return text === "" ? [] : [{ ...keyOfState(state), field, text, ...endOf(state) }];
}

function endOf(state: StoredState | undefined): Pick<StoredPoint, "died"> {
  return state === undefined || state.died === Infinity ? {} : { died: state.died };
}
