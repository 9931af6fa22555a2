/**
 * Constraints and indexes of the outbox, the counters of terms, keys and blobs. An index over several properties holds only
 * the nodes that have them all: a row that was given up has no `waiting`, one that nobody claimed no `claim`.
 */
export const OUTBOX_SCHEMA: readonly string[] = [
  "CREATE CONSTRAINT outbox_key IF NOT EXISTS FOR (o:Outbox) REQUIRE o.key IS UNIQUE",
  "CREATE INDEX outbox_waiting IF NOT EXISTS FOR (o:Outbox) ON (o.waiting, o.seq)",
  "CREATE INDEX outbox_oldest IF NOT EXISTS FOR (o:Outbox) ON (o.seq, o.waiting)",
  "CREATE INDEX outbox_claim IF NOT EXISTS FOR (o:Outbox) ON (o.claim)",
  "CREATE INDEX outbox_job IF NOT EXISTS FOR (o:Outbox) ON (o.tenant, o.job)",
  "CREATE INDEX outbox_field IF NOT EXISTS FOR (o:Outbox) ON (o.memory, o.model, o.field, o.task)",
  "CREATE INDEX outbox_revision IF NOT EXISTS FOR (o:Outbox) ON (o.memory, o.revision)",
  "CREATE INDEX outbox_failed IF NOT EXISTS FOR (o:Outbox) ON (o.failed)",
  "CREATE INDEX outbox_failed_of IF NOT EXISTS FOR (o:Outbox) ON (o.memory, o.failed)",
  "CREATE CONSTRAINT tracked_field IF NOT EXISTS FOR (t:Tracked) REQUIRE (t.memory, t.model, t.field) IS UNIQUE",
  "CREATE CONSTRAINT tenant_lock IF NOT EXISTS FOR (l:TenantLock) REQUIRE l.number IS UNIQUE",
  "CREATE CONSTRAINT tombstone_key IF NOT EXISTS FOR (t:Tombstone) REQUIRE t.key IS UNIQUE",
  "CREATE INDEX tombstone_time IF NOT EXISTS FOR (t:Tombstone) ON (t.time)",
  "CREATE CONSTRAINT terms_field IF NOT EXISTS FOR (t:Terms) REQUIRE (t.memory, t.field) IS UNIQUE",
  "CREATE CONSTRAINT term_counted IF NOT EXISTS FOR (t:Term) REQUIRE (t.memory, t.field, t.term) IS UNIQUE",
  "CREATE CONSTRAINT api_key_hash IF NOT EXISTS FOR (k:ApiKey) REQUIRE k.hash IS UNIQUE",
  "CREATE CONSTRAINT api_key_id IF NOT EXISTS FOR (k:ApiKey) REQUIRE (k.tenant, k.id) IS UNIQUE",
  "CREATE CONSTRAINT blob_key IF NOT EXISTS FOR (b:Blob) REQUIRE b.key IS UNIQUE",
  "CREATE INDEX blob_expiry IF NOT EXISTS FOR (b:Blob) ON (b.expiresAt)",
  "CREATE INDEX blob_memory IF NOT EXISTS FOR (b:Blob) ON (b.memory)",
  "CREATE CONSTRAINT blob_chunk IF NOT EXISTS FOR (c:BlobChunk) REQUIRE (c.blob, c.part) IS UNIQUE",
  "CREATE INDEX blob_chunk_expiry IF NOT EXISTS FOR (c:BlobChunk) ON (c.expiresAt)",
  "CREATE INDEX blob_chunk_memory IF NOT EXISTS FOR (c:BlobChunk) ON (c.memory)",
];

/**
 * Rows know the path of their state, so that queries read those that wait in document order, a page at a time. Rows that are
 * there get it in one transaction: some seconds for a million.
 */
export const OUTBOX_BY_PATH: readonly string[] = [
  `MATCH (o:Outbox) WHERE o.memory >= '' AND o.revision >= 0 AND o.path IS NULL
MATCH (n:Node {memory: o.memory, id: o.id, born: o.born})
SET o.path = n.pathKey`,
  "CREATE INDEX outbox_path IF NOT EXISTS FOR (o:Outbox) ON (o.memory, o.model, o.field, o.task, o.path)",
  "DROP INDEX outbox_field IF EXISTS",
  "DROP INDEX outbox_oldest IF EXISTS",
];
