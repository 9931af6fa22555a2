import { OUTBOX_BY_PATH, OUTBOX_SCHEMA } from "./outbox-schema.js";

/**
 * What the live nodes of memories say, counted anew. Cypher counts characters, so that of what was stored before this a part
 * that is not ASCII counts for less. An index has the sums of a tenant's memories at hand.
 */
const BYTES: readonly string[] = [
  `MATCH (m:Memory) WHERE m.bytes IS NULL
CALL (m) {
  MATCH (n:Node) WHERE n.live = m.key AND n.died = ${Number.MAX_SAFE_INTEGER}
  RETURN coalesce(sum(size(n.type) + size(n.attributes) + size(n.metadata)), 0) AS bytes
}
SET m.bytes = bytes`,
  "CREATE INDEX memory_counts IF NOT EXISTS FOR (m:Memory) ON (m.tenant, m.nodes, m.bytes)",
];

/**
 * Constraints and indexes, by number; a migration that was released is never changed. Each is a list of statements that can
 * be run again; every one names what it makes or drops, or brings data in line.
 *
 * `:Node` is one state of a node; every node names its memory by `memory` (`tenant/id`). `live` is the memory again while the
 * state is, or was until a moment ago, of the head: an index over several properties holds only nodes that have them all, so
 * that ended states do not slow reads of the head. `died` is `Number.MAX_SAFE_INTEGER` while a state lives.
 */
export const MIGRATIONS: readonly (readonly string[])[] = [
  [
    "CREATE CONSTRAINT memory_key IF NOT EXISTS FOR (m:Memory) REQUIRE m.key IS UNIQUE",
    "CREATE INDEX memory_of_tenant IF NOT EXISTS FOR (m:Memory) ON (m.tenant, m.id)",
    "CREATE CONSTRAINT label_of_memory IF NOT EXISTS FOR (l:Label) REQUIRE (l.tenant, l.name, l.value, l.id) IS UNIQUE",
    "CREATE INDEX label_memory IF NOT EXISTS FOR (l:Label) ON (l.memory)",
    "CREATE CONSTRAINT node_state IF NOT EXISTS FOR (n:Node) REQUIRE (n.memory, n.id, n.born) IS UNIQUE",
    "CREATE INDEX node_live_type IF NOT EXISTS FOR (n:Node) ON (n.live, n.type, n.pathKey)",
    "CREATE INDEX node_live_path IF NOT EXISTS FOR (n:Node) ON (n.live, n.pathKey)",
    "CREATE INDEX node_live_parent IF NOT EXISTS FOR (n:Node) ON (n.live, n.parent, n.pathKey)",
    "CREATE INDEX node_type IF NOT EXISTS FOR (n:Node) ON (n.memory, n.type, n.pathKey)",
    "CREATE INDEX node_path IF NOT EXISTS FOR (n:Node) ON (n.memory, n.pathKey)",
    "CREATE CONSTRAINT revision_number IF NOT EXISTS FOR (r:Revision) REQUIRE (r.memory, r.revision) IS UNIQUE",
    "CREATE CONSTRAINT inbox_step IF NOT EXISTS FOR (i:Inbox) REQUIRE (i.memory, i.job, i.step) IS UNIQUE",
    "CREATE INDEX inbox_age IF NOT EXISTS FOR (i:Inbox) ON (i.memory, i.time)",
    "CREATE CONSTRAINT schema_entry IF NOT EXISTS FOR (s:SchemaEntry) REQUIRE (s.memory, s.entry) IS UNIQUE",
    "CREATE CONSTRAINT staged_batch IF NOT EXISTS FOR (s:Staged) REQUIRE (s.memory, s.revision, s.batch) IS UNIQUE",
    "CREATE CONSTRAINT ended_batch IF NOT EXISTS FOR (e:Ended) REQUIRE (e.memory, e.revision, e.batch) IS UNIQUE",
    ...OUTBOX_SCHEMA,
  ],
  [
    "CREATE CONSTRAINT tenant_id IF NOT EXISTS FOR (t:Tenant) REQUIRE t.id IS UNIQUE",
    "CREATE INDEX tenant_name IF NOT EXISTS FOR (t:Tenant) ON (t.name, t.id)",
    "CREATE CONSTRAINT api_key_name IF NOT EXISTS FOR (k:ApiKey) REQUIRE k.id IS UNIQUE",
  ],
  BYTES,
  OUTBOX_BY_PATH,
];
