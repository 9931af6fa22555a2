/**
 * Ended states stay in the indexes of the head for a while, for readers who read those at an older revision: they had asked
 * for the head's bounds (`purged`) before the states ended. No reader's transaction lasts longer than `READ_MS`, so after
 * that they can go; the next commit of the memory takes them out.
 */
import { COMMIT } from "./commit-statements.js";
import type { Database } from "./database.js";
import { READ_MS } from "./settings.js";

const KEEP_LIVE_MS = 2 * READ_MS;

/** Ids of one `(:Ended)`, and of them in one transaction: some 100 ms. */
export const ENDED_BATCH = 500;
const BATCHES = 8;
/** States whose edges one transaction removes. */
const UNLINKED_STATES = 2_000;

export const ENDED = {
  isDue: `
MATCH (e:Ended) WHERE e.memory = $memory AND e.revision >= 0 AND e.batch >= 0 AND e.time < timestamp() - toInteger($keepMs)
RETURN e.batch AS batch LIMIT 1`,

  purge: `
MATCH (e:Ended) WHERE e.memory = $memory AND e.revision >= 0 AND e.batch >= 0 AND e.time < timestamp() - toInteger($keepMs)
WITH e LIMIT toInteger($limit)
CALL (e) {
  UNWIND e.ids AS id
  MATCH (n:Node {memory: $memory, id: id}) USING INDEX SEEK n:Node(memory, id, born) WHERE n.born < e.revision AND n.died = e.revision
  REMOVE n.live
  WITH n
  MATCH (n)-[link:CHILD]-(:Node)
  DELETE link
}
DELETE e
RETURN count(*) AS purged`,
} as const;

/** Removes the edges of states that a large change set ended, in bounded transactions. What is left by a death goes with `purgeEnded`. */
export async function unlinkEnded(
  database: Database,
  memory: string,
  ended: readonly { readonly id: string; readonly born: number }[],
): Promise<void> {
  for (let start = 0; start < ended.length; start += UNLINKED_STATES) {
    const states = ended.slice(start, start + UNLINKED_STATES).map(({ id, born }) => ({ id, born }));
    await database.write((transaction) => transaction.run(COMMIT.unlink, { memory, states }));
  }
}

/** Takes ended states that no reader can need any more out of the indexes of the head. One read where there are none. */
export async function purgeEnded(database: Database, memory: string, keepMs = KEEP_LIVE_MS): Promise<void> {
  const due = await database.read((transaction) => transaction.run(ENDED.isDue, { memory, keepMs }));
  let isDone = due.length === 0;
  while (!isDone) {
    const [purged] = await database.write((transaction) =>
      transaction.run<{ readonly purged: number }>(ENDED.purge, { memory, keepMs, limit: BATCHES }),
    );
    isDone = (purged?.purged ?? 0) < BATCHES;
  }
}
