import { EspalierError, type MemoryScope, NODE_FIELD, RETENTION_SECONDS } from "#core";
import { stateBytes, type ChangeSet, type CommitResult, type MemorySchema } from "#memory";
import { addRows } from "./outbox-rows.js";
import { schemaOf } from "./schema.js";
import { liveStates, stateKey, type StoredMemory, type StoredState, type Tables } from "./tables.js";
import { checkDimensions } from "./vector-store.js";

/** All checks come before the first change. */
export function commit(tables: Tables, scope: MemoryScope, change: ChangeSet): CommitResult {
  const stored = tables.find(scope);
  const inboxKey = JSON.stringify([change.inbox.job, change.inbox.step]);
  const before = stored.inbox.get(inboxKey);
  if (before !== undefined) return { revision: before.revision, repeated: true, result: before.result };
  checkBase(stored, change);
  const revision = stored.memory.revision + 1;
  const points = change.vectors.map((point) => ({ ...point, born: revision }));
  checkDimensions(tables.pointsOf(scope), points);

  const schema = schemaOf(liveStates(stored, revision - 1), 0);
  stored.states = [
    ...endStates(stored, change.ends, revision),
    ...change.states.map((state) => ({ ...state, born: revision, died: Infinity })),
  ];
  tables.setPoints(scope, [...tables.pointsOf(scope), ...points]);
  if (tables.outbox !== undefined) addRows(tables.outbox, scope, stored, { ...change, revision });
  stored.revisions += 1;
  const indexed = indexedFields(stored);
  for (const { id, field, weights } of change.terms) {
    if (!indexed.includes(field)) continue;
    const documents = stored.terms.get(field) ?? new Map<string, ReadonlyMap<string, number>>();
    documents.set(stateKey({ id, born: revision }), new Map(weights));
    stored.terms.set(field, documents);
  }
  const live = liveStates(stored, revision);
  stored.memory = {
    ...stored.memory,
    revision,
    nodes: live.length,
    tokens: live.reduce((sum, { tokens }) => sum + tokens, 0),
    bytes: live.reduce((sum, state) => sum + stateBytes(state), 0),
    schemaVersion: stored.memory.schemaVersion + (sameShape(schema, schemaOf(live, 0)) ? 0 : 1),
    updatedAt: change.time,
  };
  const result = JSON.parse(JSON.stringify(change.result ?? null)) as unknown;
  for (const [key, { time }] of stored.inbox) {
    if (time < change.time - RETENTION_SECONDS.inbox * 1_000) stored.inbox.delete(key);
  }
  stored.inbox.set(inboxKey, { revision, repeated: false, result, time: change.time });
  return { revision, repeated: false, result };
}

/** The fields that commits must bring terms for. */
export function indexedFields(stored: StoredMemory): readonly string[] {
  return [...new Set([NODE_FIELD, ...[...stored.terms.keys()].sort()])];
}

function checkBase(stored: StoredMemory, change: ChangeSet): void {
  const { revision } = stored.memory;
  if (change.baseRevision !== revision) {
    throw new EspalierError("revision_conflict", `The memory is at revision ${revision}.`, {
      details: { baseRevision: change.baseRevision, revision },
    });
  }
  const { termFields } = change;
  const field = indexedFields(stored).find((one) => termFields?.includes(one) === false);
  if (field !== undefined) {
    throw new EspalierError("revision_conflict", `The field ${field} was indexed after the change was made.`, {
      details: { field },
    });
  }
}

function endStates(stored: StoredMemory, ends: readonly string[], revision: number): readonly StoredState[] {
  const live = new Set(liveStates(stored, revision).map(({ id }) => id));
  const unknown = ends.find((id) => !live.has(id));
  if (unknown !== undefined) {
    throw new EspalierError("node_not_found", `The change ends ${unknown}, which is not live.`, {
      details: { node: unknown },
    });
  }
  return stored.states.map((state) =>
    state.died === Infinity && ends.includes(state.id) ? { ...state, died: revision } : state,
  );
}

/** Whether two schemas have the same types, names, kinds and relations, whatever their counts. */
function sameShape(one: MemorySchema, other: MemorySchema): boolean {
  const shape = ({ types, relations }: MemorySchema): string =>
    JSON.stringify([types, relations], (key, value: unknown) => (typeof value === "number" ? 0 : value));
  return shape(one) === shape(other);
}
