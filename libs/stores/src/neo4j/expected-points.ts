/**
 * What the vector store should hold: every (state, field) of a tracked field with a text whose revision is committed, less
 * those with a visible outbox row. States are read in pages by id and born, then the rows of the page by their keys.
 */
import { type MemoryScope, NODE_FIELD } from "#core";
import type { PointExpectation, StoredPoint } from "#memory";
import { FingerprintSum } from "../point-fingerprint.js";
import type { Database, Transaction } from "./database.js";
import { memoryKey, memoryNotFound } from "./memory-key.js";
import { rowKey } from "./outbox-rows.js";
import { textOf } from "./source-columns.js";
import { sweepAbandoned } from "./staged-states.js";
import { type StatePosition, statesAfter, statesInOrder } from "./states-in-order.js";

/** States in one page of a whole walk. */
const PAGE_STATES = 2_000;

interface Page {
  readonly points: readonly StoredPoint[];
  /** The last state of the page; absent if it was the last of all. */
  readonly next?: StatePosition;
}

/** Statements of the walk. `$memory` is the memory's key; `$attributes` says whether attributes are needed. */
export const EXPECTED = {
  fields: `
MATCH (m:Memory {key: $memory})
OPTIONAL MATCH (t:Tracked {memory: m.key, model: $model}) WHERE t.field >= ''
RETURN m.revision AS revision, t.field AS field
ORDER BY field`,

  ...statesInOrder(`n.id AS id, n.born AS born, n.died AS died, n.text <> '' AS hasText,
  CASE WHEN $attributes THEN n.attributes END AS attributes`),

  /** Which of `$keys` have a row that is visible. */
  rows: `
UNWIND $keys AS key
MATCH (o:Outbox {key: key}) USING INDEX SEEK o:Outbox(key) WHERE o.revision <= toInteger($revision)
RETURN key`,

  pending: `
MATCH (o:Outbox) USING INDEX SEEK o:Outbox(memory, model, field, task, path)
WHERE o.memory = $memory AND o.model = $model AND o.field >= '' AND o.task >= ''
  AND o.path >= ''
WITH o.memory AS memory, o.revision AS revision, count(*) AS rows, count(o.failed) AS failed
MATCH (m:Memory {key: memory}) WHERE m.revision >= revision
RETURN sum(rows) AS pending, sum(failed) AS failed`,
} as const;

/**
 * Fingerprint and pending rows of a memory under a model. O(states), a page at a time. What a writer that died left of a large
 * change set goes first: a memory that nobody writes to any more would keep it.
 */
export async function expectation(database: Database, scope: MemoryScope, model: string): Promise<PointExpectation> {
  await sweepAbandoned(database, scope.tenant, memoryKey(scope));
  const of = { scope, model, limit: PAGE_STATES };
  const sum = new FingerprintSum();
  let after: StatePosition | undefined = START;
  while (after !== undefined) {
    const page: Page = await readPage(database, { ...of, after });
    sum.add(page.points);
    after = page.next;
  }
  const [row] = await database.read((transaction) =>
    transaction.run<{ readonly pending: number; readonly failed: number }>(EXPECTED.pending, {
      memory: memoryKey(scope),
      model,
    }),
  );
  return { fingerprint: sum.fingerprint, pending: row?.pending ?? 0, failed: row?.failed ?? 0 };
}

/** A page of points: those of so many states that there are at most `limit`, but always of one. */
export async function expected(
  database: Database,
  scope: MemoryScope,
  model: string,
  page: { readonly after?: string; readonly limit: number },
): Promise<{ readonly points: readonly StoredPoint[]; readonly next?: string }> {
  const after = page.after === undefined ? START : (JSON.parse(page.after) as StatePosition);
  const { points, next } = await readPage(database, { scope, model, after, limit: page.limit });
  return { points, ...(next !== undefined && { next: JSON.stringify(next) }) };
}

/** Before every state. */
const START: StatePosition = { id: "", born: 0 };

interface PageRead {
  readonly scope: MemoryScope;
  readonly model: string;
  readonly after: StatePosition;
  /** Points at most, but for one state with more fields. */
  readonly limit: number;
}

async function readPage(database: Database, { scope, model, after, limit }: PageRead): Promise<Page> {
  const memory = memoryKey(scope);
  return database.read(async (transaction) => {
    const tracked = await transaction.run<{ readonly revision: number; readonly field: string | null }>(
      EXPECTED.fields,
      { memory, model },
    );
    const [{ revision } = { revision: undefined }] = tracked;
    if (revision === undefined) throw memoryNotFound(scope);
    const fields = tracked.flatMap(({ field }) => field ?? []);
    if (fields.length === 0) return { points: [] };
    const states = Math.max(1, Math.floor(limit / fields.length));
    const attributes = fields.some((field) => field !== NODE_FIELD);
    const rows = await statesAfter<StateColumns>(transaction, EXPECTED, {
      memory,
      ...after,
      attributes,
      limit: states,
    });
    const points = rows.filter(({ born }) => born <= revision).flatMap((state) => pointsOf(state, fields, revision));
    const last = rows.at(-1);
    return {
      points: await withoutRows(transaction, points, { memory, model, revision }),
      ...(rows.length === states && last !== undefined && { next: { id: last.id, born: last.born } }),
    };
  });
}

interface StateColumns extends StatePosition {
  readonly died: number;
  readonly hasText: boolean;
  readonly attributes: string | null;
}

/** An end that is not committed has not come. */
function pointsOf(state: StateColumns, fields: readonly string[], revision: number): readonly StoredPoint[] {
  const { id, born, died, hasText, attributes } = state;
  return fields
    .filter((field) => (field === NODE_FIELD ? hasText : textOf({ field, source: attributes }) !== ""))
    .map((field) => ({ id, born, field, ...(died <= revision && { died }) }));
}

async function withoutRows(
  transaction: Transaction,
  points: readonly StoredPoint[],
  { memory, model, revision }: { readonly memory: string; readonly model: string; readonly revision: number },
): Promise<readonly StoredPoint[]> {
  const keyOf = (point: StoredPoint): string => rowKey(memory, { ...point, model });
  const keys = points.map(keyOf);
  const found = await transaction.run<{ readonly key: string }>(EXPECTED.rows, { keys, revision });
  const pending = new Set(found.map(({ key }) => key));
  return points.filter((point) => !pending.has(keyOf(point)));
}
