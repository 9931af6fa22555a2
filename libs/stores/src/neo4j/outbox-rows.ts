import { fieldText, NODE_FIELD } from "#core";
import type { OutboxTask } from "#memory";
import type { StateRef } from "#scoring";
import { fieldTokens } from "../distributed/field-tokens.js";
import type { FieldState } from "./state-columns.js";

/** A field whose points are kept up to date under a model. */
export interface TrackedField {
  readonly model: string;
  readonly field: string;
}

/** A row as `OUTBOX_ROWS.write` takes it. */
export interface NewRow extends StateRef, TrackedField {
  /** Unique in the store. */
  readonly key: string;
  readonly task: OutboxTask;
  /** Path key of the state. */
  readonly path: string;
  /** The revision with which the row becomes visible. */
  readonly revision: number;
  readonly tokens: number;
  readonly job?: string;
}

/** Parts of a millisecond that a `seq` can tell apart: what a 64-bit float has left beside the milliseconds since 1970. */
const SEQ_PARTS = 4_096;
/**
 * All times are the server's milliseconds, and so is `seq`, with a fraction that grows with the tokens: of rows of one moment,
 * as those of an insert, claims have texts of one length. A model pads the texts of a call to the longest.
 */
const SEQ = `timestamp() + CASE WHEN row.tokens < ${SEQ_PARTS} THEN row.tokens ELSE ${SEQ_PARTS - 1} END / ${SEQ_PARTS}.0`;

/**
 * What a transaction that writes states or ends them does for the outbox. `waiting` holds the tenant until the row is given up,
 * so that the indexes that claims walk hold no other rows.
 */
export const OUTBOX_ROWS = {
  /**
   * `$memory`: fields that are tracked. Read after the memory's node was locked (outbox-tracking.ts says why).
   */
  tracked: `
MATCH (t:Tracked {memory: $memory}) WHERE t.model >= '' AND t.field >= ''
RETURN t.model AS model, t.field AS field`,

  /** `$tenant`, `$memory`, `$rows`: writes rows of states that this transaction begins, so that none of them can be there. */
  create: `
UNWIND $rows AS row
CREATE (:Outbox {key: row.key, tenant: $tenant, memory: $memory, id: row.id, born: toInteger(row.born), model: row.model,
  field: row.field, path: row.path, revision: toInteger(row.revision), job: row.job, seq: ${SEQ}, task: row.task,
  tokens: toInteger(row.tokens), waiting: $tenant, due: 0, failures: 0})`,

  /**
   * `$tenant`, `$memory`, `$rows`: writes rows and answers how many were `added`. One that is there stays as it is, but for a
   * `payload` row whose point was found to be missing: it becomes a `vector` row.
   */
  write: `
UNWIND $rows AS row
MERGE (o:Outbox {key: row.key})
ON CREATE SET o.changed = true, o.tenant = $tenant, o.memory = $memory, o.id = row.id, o.born = toInteger(row.born),
  o.model = row.model, o.field = row.field, o.path = row.path, o.revision = toInteger(row.revision), o.job = row.job,
  o.seq = ${SEQ}
ON MATCH SET o.changed = CASE WHEN o.task = 'payload' AND row.task = 'vector' THEN true END
WITH o, row WHERE o.changed
REMOVE o.changed, o.claim, o.failed, o.error
SET o.task = row.task, o.tokens = toInteger(row.tokens), o.waiting = $tenant, o.due = 0, o.failures = 0
RETURN count(*) AS added`,
} as const;

/** The name of a row: its memory (`tenant/id`) and its point. */
export const rowKey = (memory: string, { model, field, id, born }: TrackedField & StateRef): string =>
  JSON.stringify([memory, model, field, id, born]);

/** Rows of states, one for each tracked field in which they have a text. O(states × tracked). */
export function rowsOf(
  memory: string,
  states: readonly FieldState[],
  options: {
    readonly tracked: readonly TrackedField[];
    readonly task: OutboxTask;
    /** When the rows become visible; absent: with their states. */
    readonly revision?: number;
    /** The insert that waits for its nodes' texts, and the memory's own model. */
    readonly waits?: { readonly job: string; readonly model: string };
  },
): readonly NewRow[] {
  const { tracked, task, revision, waits } = options;
  return states.flatMap((state) =>
    tracked
      .filter(({ field }) => (fieldText(state, field) ?? "") !== "")
      .map(({ model, field }) => {
        const { id, born, pathKey: path } = state;
        const isWaitedFor = field === NODE_FIELD && model === waits?.model;
        return {
          ...{ key: rowKey(memory, { model, field, id, born }), id, born, model, field, task, path },
          revision: revision ?? born,
          tokens: task === "vector" ? fieldTokens(state, field) : 0,
          ...(isWaitedFor && { job: waits.job }),
        };
      }),
  );
}
