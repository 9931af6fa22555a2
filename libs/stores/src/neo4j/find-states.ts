import { EspalierError } from "#core";
import type { ChangeSet } from "#memory";
import type { FoundStates, LiveState, StayingChildren } from "./change-counts.js";
import { COMMIT } from "./commit-statements.js";
import type { Transaction } from "./database.js";
import { NEVER, nodeOf, type NodeRow } from "./node-rows.js";

/** States of one statement: some MB on their way. */
const STATEMENT_ROWS = 5_000;

/** What a change set, whose ends are named once each, finds live in its memory. @throws EspalierError `node_not_found` */
export async function findStates(
  transaction: Transaction,
  memory: string,
  { states, ends, baseRevision }: Pick<ChangeSet, "states" | "ends" | "baseRevision">,
): Promise<FoundStates> {
  const named = { memory, head: baseRevision, never: NEVER };
  const ended = await readLive(transaction, named, ends);
  const missing = ends.find((id) => !ended.has(id));
  if (missing !== undefined) {
    throw new EspalierError("node_not_found", `The change ends ${missing}, which is not live.`, {
      details: { node: missing },
    });
  }
  const known = new Set([...states.map(({ id }) => id), ...ended.keys()]);
  const parentIds = new Set([...states, ...ended.values()].flatMap(({ parentId }) => parentId ?? []));
  const parents = await readLive(
    transaction,
    named,
    [...parentIds].filter((id) => !known.has(id)),
  );
  const retyped = states.filter(({ id, type }) => (ended.get(id)?.type ?? type) !== type).map(({ id }) => id);
  const staying =
    retyped.length === 0
      ? []
      : await transaction.run<StayingChildren>(COMMIT.staying, { ...named, parents: retyped, ends });
  return { ended, parents, staying };
}

async function readLive(
  transaction: Transaction,
  named: Readonly<Record<string, unknown>>,
  ids: readonly string[],
): Promise<ReadonlyMap<string, LiveState>> {
  const found = new Map<string, LiveState>();
  for (let start = 0; start < ids.length; start += STATEMENT_ROWS) {
    const part = ids.slice(start, start + STATEMENT_ROWS);
    const rows = await transaction.run<NodeRow & { readonly children: number }>(COMMIT.live, { ...named, ids: part });
    for (const row of rows) found.set(row.id, { ...nodeOf(row), children: row.children });
  }
  return found;
}
