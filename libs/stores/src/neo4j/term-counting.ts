/**
 * Counting the terms of a field that commits did not count so far. Every transaction of it locks the memory's node first, as
 * those of commits do, so that each of them follows the other.
 *
 * - The first one writes `Terms` with `since`, the head. From then on commits count the field: what begins is added, what ends is
 *   taken away, whether it was added yet or not. A change set that was planned before is refused, as it does not name the field.
 * - The pages add what was live at `since`, also what has ended meanwhile: that was taken away, or will be. States stay, and go by
 *   (id, born), so that every page sees the same ones whatever is committed between them.
 * - The last page removes `since`: the counters are those of the head, and from now on the field is indexed.
 *
 * The cursor lies in `Terms` and moves with what a page counts: callers that die or run at the same time go on where the last page
 * ended.
 */
import { type MemoryScope, NODE_FIELD } from "#core";
import { termWeights } from "#scoring";
import { COMMIT } from "./commit-statements.js";
import type { Transaction } from "./database.js";
import { LEDGER } from "./ledger-statements.js";
import { memoryKey, memoryNotFound } from "./memory-key.js";
import { textOf } from "./source-columns.js";
import { type StatePosition, statesAfter, statesInOrder } from "./states-in-order.js";

/** States in one page: about 100 ms, for which commits of the memory wait. */
const PAGE_STATES = 1_000;
/** Different terms after which a page ends early: some MB of the server's heap. */
const PAGE_TERMS = 10_000;
/** Rows of one statement. */
const STATEMENT_ROWS = 5_000;

/** Statements of counting. `$memory` is the memory's key. */
export const COUNTING = {
  begin: `
MERGE (t:Terms {memory: $memory, field: $field})
ON CREATE SET t.documents = 0, t.since = toInteger($revision), t.id = '', t.born = 0
RETURN t.since AS since, t.id AS id, t.born AS born`,

  /** Attributes are those of what was live at `$since`. */
  ...statesInOrder(`n.id AS id, n.born AS born,
  CASE WHEN n.born <= toInteger($since) AND n.died > toInteger($since) THEN n.attributes END AS source`),

  move: `
MATCH (t:Terms {memory: $memory, field: $field})
SET t.documents = t.documents + toInteger($documents), t.id = $id, t.born = toInteger($born)
WITH t WHERE $done
REMOVE t.since, t.id, t.born`,
} as const;

interface CountedState extends StatePosition {
  /** Attributes as JSON; null: not to be counted. */
  readonly source: string | null;
}

/** Counts the next states of a field. Answers whether they were the last, and the memory's model. */
export async function countPage(
  transaction: Transaction,
  scope: MemoryScope,
  field: string,
): Promise<{ readonly isDone: boolean; readonly model: string }> {
  const named = { memory: memoryKey(scope), field };
  const [head] = await transaction.run<{ readonly revision: number; readonly model: string }>(LEDGER.lockHead, named);
  if (head === undefined) throw memoryNotFound(scope);
  const { model, revision } = head;
  if (field === NODE_FIELD) return { isDone: true, model };
  const [begun] = await transaction.run<StatePosition & { readonly since: number | null }>(COUNTING.begin, {
    ...{ ...named, revision },
  });
  if (begun === undefined || begun.since === null) return { isDone: true, model };
  const states = await statesAfter<CountedState>(transaction, COUNTING, { ...named, ...begun, limit: PAGE_STATES });
  const { read, documents, terms } = countStates(states, field);
  for (let start = 0; start < terms.length; start += STATEMENT_ROWS) {
    await transaction.run(COMMIT.countTerms, { ...named, terms: terms.slice(start, start + STATEMENT_ROWS) });
  }
  const { id, born } = states[read - 1] ?? begun;
  const isDone = read === states.length && states.length < PAGE_STATES;
  await transaction.run(COUNTING.move, { ...named, id, born, documents, done: isDone });
  return { isDone, model };
}

/** As many of the states as have PAGE_TERMS, and the one with which they have. */
function countStates(
  states: readonly CountedState[],
  field: string,
): {
  readonly read: number;
  readonly documents: number;
  readonly terms: readonly { readonly field: string; readonly term: string; readonly documents: number }[];
} {
  const counts = new Map<string, number>();
  let read = 0;
  let documents = 0;
  for (const { source } of states) {
    if (counts.size >= PAGE_TERMS) break;
    read += 1;
    const text = textOf({ field, source });
    if (text === "") continue;
    documents += 1;
    for (const term of termWeights(text).keys()) counts.set(term, (counts.get(term) ?? 0) + 1);
  }
  return { read, documents, terms: Array.from(counts, ([term, of]) => ({ field, term, documents: of })) };
}
