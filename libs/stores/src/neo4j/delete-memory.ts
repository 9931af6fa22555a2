/**
 * A memory goes in two steps: one transaction replaces its node by a tombstone, and from then on it is unknown to everyone;
 * then its rows go in bounded transactions. The tombstone stays until the points of the memory are gone too (`bury`), and
 * whoever finds it can go on where a deletion that died stopped. Its time is that of the last transaction: who looks for
 * deletions that died or ended does not meet those under way.
 */
import type { MemoryScope } from "#core";
import type { DeletionCounts } from "#memory";
import type { Database } from "./database.js";
import { memoryKey, memoryNotFound } from "./memory-key.js";
import { LOCK_TENANT, lockOf } from "./tenant-lock.js";

/** Rows that one transaction removes: about 200 ms; states with the largest texts fit into its memory. */
const ROWS = 2_000;

/** Chunks of blobs that one transaction removes: up to 1 MiB each. */
const CHUNKS = 20;

/** Removes up to `$limit` rows of one kind; `condition` is one on every property of an index. */
const removeBy = (label: string, condition: string, index?: string): string => `
MATCH (n:${label})${index === undefined ? "" : ` USING INDEX SEEK n:${label}(${index})`} WHERE ${condition}
WITH n LIMIT toInteger($limit)
DETACH DELETE n
RETURN count(*) AS removed`;

export const DELETION = {
  bury: `
MATCH (m:Memory {key: $memory})
MERGE (t:Tombstone {key: $memory})
SET t.tenant = $tenant, t.memory = $id, t.time = timestamp()
DELETE m
RETURN t.key AS key`,

  tombstone: `
MATCH (t:Tombstone {key: $memory})
RETURN t.key AS key`,

  /** The deletion goes on. */
  touch: `
MATCH (t:Tombstone {key: $memory})
SET t.time = timestamp()`,

  forget: `
MATCH (t:Tombstone {key: $memory})
DELETE t`,

  nodes: removeBy("Node", "n.memory = $memory AND n.id > '' AND n.born >= 0", "memory, id, born"),
  terms: removeBy("Term", "n.memory = $memory AND n.field >= '' AND n.term >= ''"),
  revisions: removeBy("Revision", "n.memory = $memory AND n.revision >= 0"),
  inbox: removeBy("Inbox", "n.memory = $memory AND n.job >= '' AND n.step >= ''"),
  blobs: removeBy("Blob", "n.memory = $memory"),
  chunks: removeBy("BlobChunk", "n.memory = $memory"),
  others: [
    removeBy("Outbox", "n.memory = $memory AND n.revision >= 0", "memory, revision"),
    removeBy("Tracked", "n.memory = $memory AND n.model >= '' AND n.field >= ''"),
    removeBy("Terms", "n.memory = $memory AND n.field >= ''"),
    removeBy("SchemaEntry", "n.memory = $memory AND n.entry >= ''"),
    removeBy("Label", "n.memory = $memory"),
    removeBy("Staged", "n.memory = $memory AND n.revision >= 0 AND n.batch >= -1"),
    removeBy("Ended", "n.memory = $memory AND n.revision >= 0 AND n.batch >= 0"),
  ],
} as const;

/** Counts are of this store alone: vectors lie elsewhere. @throws EspalierError `memory_not_found` */
export async function deleteMemory(database: Database, scope: MemoryScope): Promise<DeletionCounts> {
  const memory = memoryKey(scope);
  let isOwn = false;
  const buried = await database.write(async (transaction) => {
    const rows = await transaction.run(DELETION.bury, { memory, tenant: scope.tenant, id: scope.memory });
    // A second run of this work finds the tombstone of the first, whose answer was lost.
    const isRepeat = isOwn && (await transaction.run(DELETION.tombstone, { memory })).length > 0;
    isOwn = rows.length > 0;
    return isOwn || isRepeat;
  });
  if (!buried) throw memoryNotFound(scope);
  return removeRows(database, scope);
}

/** Removes what is left of a memory whose tombstone stands. Repeats safely. */
export async function removeRows(database: Database, scope: MemoryScope): Promise<DeletionCounts> {
  const remove = async (statement: string, limit = ROWS): Promise<number> => {
    let removed = 0;
    for (;;) {
      const count = await removePart(database, scope, { statement, limit });
      removed += count;
      if (count < limit) return removed;
    }
  };
  const counts = {
    nodes: await remove(DELETION.nodes),
    vectors: 0,
    terms: await remove(DELETION.terms),
    revisions: await remove(DELETION.revisions),
    inbox: await remove(DELETION.inbox),
    blobs: await remove(DELETION.blobs),
  };
  await remove(DELETION.chunks, CHUNKS);
  for (const statement of DELETION.others) await remove(statement);
  return counts;
}

/** Before a memory is made where one was deleted: its rows must all be gone. One read where there was none. */
export async function clearGround(database: Database, scope: MemoryScope): Promise<void> {
  const named = { memory: memoryKey(scope) };
  const [tombstone] = await database.read((transaction) => transaction.run(DELETION.tombstone, named));
  if (tombstone === undefined) return;
  await removeRows(database, scope);
  await forget(database, scope);
}

/** Removes the tombstone. */
export async function forget(database: Database, scope: MemoryScope): Promise<void> {
  await database.write((transaction) => transaction.run(DELETION.forget, { memory: memoryKey(scope) }));
}

async function removePart(
  database: Database,
  scope: MemoryScope,
  { statement, limit }: { readonly statement: string; readonly limit: number },
): Promise<number> {
  return database.write(async (transaction) => {
    const memory = memoryKey(scope);
    await transaction.run(LOCK_TENANT, { lock: lockOf(scope.tenant) });
    await transaction.run(DELETION.touch, { memory });
    const [row] = await transaction.run<{ readonly removed: number }>(statement, { memory, limit });
    return row?.removed ?? 0;
  });
}
