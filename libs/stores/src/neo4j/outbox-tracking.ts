/**
 * Tracking: from the moment that a (model, field) is tracked in a memory, every state with a text in the field has an outbox
 * row until its point is stored. Two things have to meet, commits that write states and a tracker that makes the rows of the
 * states that are there; none may be left out when they run at the same time.
 *
 * Every transaction that writes states, be it one of many of a large change set, first locks the memory's node and then reads
 * what is tracked. The tracker begins with a transaction that locks the memory's node and writes `Tracked`. One of the two
 * transactions has the lock first:
 * - the tracker: the writer reads `Tracked` after the lock was given to it, so it sees it and makes its own rows;
 * - the writer: its states are in the store when the tracker's first transaction ends. The pages come after that and range
 *   over all states of the memory, those of revisions that are not committed too. They see the states and make their rows,
 *   which become visible with the states' revision and are swept with it.
 * A state that both see gets one row: rows have unique keys. A row whose point was stored before its page came is made again;
 * its text is then embedded once more, which does no harm.
 *
 * A memory's states are tracked under the model that its queries read and the one that it is moving to. Which these are is
 * read under the memory's lock: a reader that still works under a model that the memory has left cannot track it again.
 *
 * Pages go by (id, born). The cursor lies in `Tracked` and moves in the transaction that writes the page's rows, under the
 * memory's lock: trackers that die or run at the same time go on where the last page ended, and none writes for a memory that
 * is gone. `done` ends it. Whoever relies on the rows (`pending`) tracks first and so waits for `done`.
 *
 * `untrack` takes `done` back and sets the cursor to the start, so that a tracker after its death begins anew; removes rows in
 * bounded transactions, each under the memory's lock; and the one that finds the last rows removes `Tracked` with them.
 */
import type { MemoryScope } from "#core";
import { leftModel } from "../distributed/left-model.js";
import type { Database, Transaction } from "./database.js";
import { memoryKey, memoryNotFound } from "./memory-key.js";
import { OUTBOX_ROWS, rowsOf, type TrackedField } from "./outbox-rows.js";
import { stateOf, type StateColumns } from "./state-columns.js";
import { LOCK_TENANT, lockOf } from "./tenant-lock.js";
import { statesAfter, statesInOrder } from "./states-in-order.js";

/** States in one transaction of a tracker: about 100 ms. */
const PAGE_STATES = 1_000;

/** Statements of tracking. `$memory` is the memory's key. */
export const TRACKING = {
  isDone: `
MATCH (m:Memory {key: $memory})
OPTIONAL MATCH (t:Tracked {memory: m.key, model: $model, field: $field})
RETURN t.done AS done`,

  /** Locks the memory, and says whether it may be tracked under the model. */
  lockModel: `
MATCH (m:Memory {key: $memory})
SET m.locked = true
RETURN $model IN [m.embeddingModel, m.nextEmbeddingModel] AS current`,

  begin: `
MATCH (m:Memory {key: $memory})
MERGE (t:Tracked {memory: m.key, model: $model, field: $field})
ON CREATE SET t.done = false, t.id = '', t.born = 0
RETURN t.done AS done`,

  /** Where a tracker is. */
  cursor: `
MATCH (t:Tracked {memory: $memory, model: $model, field: $field})
RETURN t.done AS done, t.id AS id, t.born AS born`,

  ...statesInOrder(
    `n.id AS id, n.born AS born, n.pathKey AS pathKey, n.text AS text, n.tokens AS tokens, n.attributes AS attributes`,
  ),

  fields: `
MATCH (m:Memory {key: $memory})
OPTIONAL MATCH (t:Tracked {memory: m.key, model: $model}) WHERE t.field >= ''
RETURN t.field AS field
ORDER BY field`,

  /** The models that a memory has left, one row at least. */
  former: `
MATCH (m:Memory {key: $memory})
OPTIONAL MATCH (t:Tracked {memory: m.key}) WHERE t.model >= '' AND t.field >= ''
  AND t.model <> m.embeddingModel AND t.model <> coalesce(m.nextEmbeddingModel, m.embeddingModel)
RETURN DISTINCT t.model AS model`,

  restart: `
MATCH (m:Memory {key: $memory})
SET m.locked = true
WITH m
MATCH (t:Tracked {memory: m.key, model: $model}) WHERE t.field >= ''
SET t.done = false, t.id = '', t.born = 0`,

  lockMemory: `
MATCH (m:Memory {key: $memory})
SET m.locked = true
RETURN m.key AS key`,

  removeRows: `
MATCH (o:Outbox) USING INDEX SEEK o:Outbox(memory, model, field, task, path)
WHERE o.memory = $memory AND o.model = $model AND o.field >= '' AND o.task >= '' AND o.path >= ''
WITH o LIMIT toInteger($limit)
DELETE o
RETURN count(*) AS removed`,

  remove: `
MATCH (t:Tracked {memory: $memory, model: $model}) WHERE t.field >= ''
DELETE t`,

  move: `
MATCH (t:Tracked {memory: $memory, model: $model, field: $field})
SET t.id = $id, t.born = toInteger($born), t.done = $done`,
} as const;

/**
 * Tracks a field; returns when every state has its row or its point. O(states) the first time, one read later.
 * @throws EspalierError `revision_conflict` if the memory has left the model
 */
export async function track(database: Database, scope: MemoryScope, of: TrackedField): Promise<void> {
  const named = { memory: memoryKey(scope), ...of };
  const [known] = await database.read((transaction) =>
    transaction.run<{ readonly done: boolean | null }>(TRACKING.isDone, named),
  );
  if (known === undefined) throw memoryNotFound(scope);
  if (known.done === true) return;
  let isDone = false;
  while (!isDone) {
    // Begun anew for each page: the field may be untracked meanwhile.
    isDone = await database.write((transaction) => beginTracking(transaction, scope, of));
    if (!isDone) isDone = await database.write((transaction) => trackPage(transaction, scope, of));
  }
}

/** Says that the field is tracked. Answers whether all its states have their rows. */
async function beginTracking(transaction: Transaction, scope: MemoryScope, of: TrackedField): Promise<boolean> {
  const named = { memory: memoryKey(scope), ...of };
  const [locked] = await transaction.run<{ readonly current: boolean | null }>(TRACKING.lockModel, named);
  if (locked === undefined) throw memoryNotFound(scope);
  if (locked.current !== true) throw leftModel(scope, of.model);
  const [begun] = await transaction.run<{ readonly done: boolean }>(TRACKING.begin, named);
  return begun?.done === true;
}

/** Makes the rows of the next states. Answers whether they were the last. */
async function trackPage(transaction: Transaction, scope: MemoryScope, of: TrackedField): Promise<boolean> {
  const memory = memoryKey(scope);
  const named = { memory, ...of };
  const [locked] = await transaction.run(TRACKING.lockMemory, named);
  if (locked === undefined) throw memoryNotFound(scope);
  const [cursor] = await transaction.run<{ readonly done: boolean; readonly id: string; readonly born: number }>(
    TRACKING.cursor,
    named,
  );
  if (cursor === undefined) return false;
  if (cursor.done) return true;
  const found = await statesAfter<StateColumns>(transaction, TRACKING, { memory, ...cursor, limit: PAGE_STATES });
  const states = found.map(stateOf);
  const rows = rowsOf(memory, states, { tracked: [of], task: "vector" });
  await transaction.run(OUTBOX_ROWS.write, { tenant: scope.tenant, memory, rows });
  const last = states.at(-1) ?? cursor;
  const isDone = states.length < PAGE_STATES;
  await transaction.run(TRACKING.move, { ...named, id: last.id, born: last.born, done: isDone });
  return isDone;
}

/** Models that the memory has left and that are still tracked. */
export async function formerModels(database: Database, scope: MemoryScope): Promise<readonly string[]> {
  const former = await database.read((transaction) =>
    transaction.run<{ readonly model: string | null }>(TRACKING.former, { memory: memoryKey(scope) }),
  );
  if (former.length === 0) throw memoryNotFound(scope);
  return former.flatMap(({ model }) => model ?? []);
}

/** Forgets tracking and rows of models that the memory has left. */
export async function untrack(database: Database, scope: MemoryScope): Promise<void> {
  const memory = memoryKey(scope);
  for (const model of await formerModels(database, scope)) {
    await database.write((transaction) => transaction.run(TRACKING.restart, { memory, model }));
    let isDone = false;
    while (!isDone) isDone = await database.write((transaction) => untrackPage(transaction, scope, model));
  }
}

async function untrackPage(transaction: Transaction, scope: MemoryScope, model: string): Promise<boolean> {
  const named = { memory: memoryKey(scope), model };
  await transaction.run(TRACKING.lockMemory, named);
  await transaction.run(LOCK_TENANT, { lock: lockOf(scope.tenant) });
  const [page] = await transaction.run<{ readonly removed: number }>(TRACKING.removeRows, {
    ...named,
    limit: PAGE_STATES,
  });
  const isDone = (page?.removed ?? 0) < PAGE_STATES;
  if (isDone) await transaction.run(TRACKING.remove, named);
  return isDone;
}
