import { fieldText, type MemoryScope, NODE_FIELD } from "#core";
import type { ChangeSet, OutboxTask, PointRef } from "#memory";
import type { StateRef } from "#scoring";
import { fieldTokens } from "../distributed/field-tokens.js";
import { leftModel } from "../distributed/left-model.js";
import {
  keyOfScope,
  type OutboxTables,
  stateKey,
  type StoredMemory,
  type StoredRow,
  type StoredState,
} from "./tables.js";

/** The name of a row: its memory and its point. */
export const rowKey = (scope: MemoryScope, { model, field, id, born }: PointRef): string =>
  JSON.stringify([scope.tenant, scope.memory, model, field, id, born]);

/** Whether a row is of a memory. */
export const isRowOf = ({ tenant, memory }: MemoryScope) => {
  return ({ scope }: StoredRow): boolean => scope.tenant === tenant && scope.memory === memory;
};

/** A row that nobody has touched yet. */
export function newRow(
  scope: MemoryScope,
  state: StoredState,
  point: Pick<StoredRow, "model" | "field" | "task">,
): StoredRow {
  const { id, born } = state;
  const tokens = point.task === "vector" ? fieldTokens(state, point.field) : 0;
  return { scope, id, born, ...point, tokens, failures: 0, due: 0, claim: undefined, failure: undefined };
}

/** Adds rows, the shortest texts first; one that is there stays as it is, but for a point found missing, which no change of payload mends. */
export function putRows(outbox: OutboxTables, rows: readonly StoredRow[]): number {
  const known = new Map(outbox.rows.map((row) => [rowKey(row.scope, row), row.task]));
  const isNew = (row: StoredRow): boolean => {
    const task = known.get(rowKey(row.scope, row));
    return task === undefined || (task === "payload" && row.task === "vector");
  };
  const added = new Map(rows.filter(isNew).map((row) => [rowKey(row.scope, row), row]));
  const kept = outbox.rows.filter((row) => !added.has(rowKey(row.scope, row)));
  outbox.rows = [...kept, ...[...added.values()].sort((one, other) => one.tokens - other.tokens)];
  return added.size;
}

/** The rows of a change set that was just applied: a vector for every text that begins, a payload for every one that ends. */
export function addRows(
  outbox: OutboxTables,
  scope: MemoryScope,
  stored: StoredMemory,
  { inbox, revision }: Pick<ChangeSet, "inbox"> & { readonly revision: number },
): void {
  const rowsOf = (states: readonly StoredState[], task: OutboxTask): readonly StoredRow[] =>
    states.flatMap((state) =>
      stored.tracked
        .filter(({ field }) => hasText(state, field))
        .map(({ model, field }) => newRow(scope, state, { model, field, task })),
    );
  const begun = rowsOf(
    stored.states.filter(({ born }) => born === revision),
    "vector",
  ).map((row) => (isWaitedFor(row, stored) ? { ...row, job: inbox.job } : row));
  putRows(outbox, begun);
  putRows(
    outbox,
    rowsOf(
      stored.states.filter(({ died }) => died === revision),
      "payload",
    ),
  );
}

/** Whether a memory's points may be of a model: it is on it, or moving to it. */
export function isCurrent({ memory }: StoredMemory, model: string): boolean {
  return model === memory.embeddingModel || model === memory.nextEmbeddingModel;
}

/** From now on the field's points are kept up to date under the model. @throws EspalierError `revision_conflict` */
export function trackField(
  outbox: OutboxTables,
  scope: MemoryScope,
  stored: StoredMemory,
  of: { readonly model: string; readonly field: string },
): void {
  const { model, field } = of;
  if (!isCurrent(stored, model)) throw leftModel(scope, model);
  if (stored.tracked.some((tracked) => tracked.model === model && tracked.field === field)) return;
  stored.tracked = [...stored.tracked, { model, field }];
  const states = stored.states.filter((state) => hasText(state, field));
  putRows(
    outbox,
    states.map((state) => newRow(scope, state, { model, field, task: "vector" })),
  );
}

/** The rows of a memory go with it; its points are another store's to remove. */
export function entomb(outbox: OutboxTables, scope: MemoryScope): void {
  const isOfMemory = isRowOf(scope);
  outbox.rows = outbox.rows.filter((row) => !isOfMemory(row));
  outbox.tombstones.set(keyOfScope(scope), { scope, time: outbox.clock.now() });
}

/** The state of that name, with or without an end. */
export function findState({ states }: StoredMemory, ref: StateRef): StoredState | undefined {
  const key = stateKey(ref);
  return states.find((state) => stateKey(state) === key);
}

export const hasText = (state: StoredState, field: string): boolean => (fieldText(state, field) ?? "") !== "";

/** An insert waits for the texts of its nodes, under the model that queries read. */
function isWaitedFor({ model, field }: StoredRow, { memory }: StoredMemory): boolean {
  return field === NODE_FIELD && model === memory.embeddingModel;
}
