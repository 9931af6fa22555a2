import type { Migration } from "./migrate.js";

/**
 * A memory's row id stands for (tenant, memory) in every other table and is never used twice; every call finds it by both.
 * `head = 1` marks the live states of the newest revision: the partial indexes hold nothing else, so that dead states do not
 * slow reads of the head. Revisions keep the range of state rows that they made, which is all that a reader needs to catch up.
 */
const TREES: Migration = `
CREATE TABLE memories (
  row INTEGER PRIMARY KEY AUTOINCREMENT,
  tenant TEXT NOT NULL,
  id TEXT NOT NULL,
  name TEXT NOT NULL,
  labels TEXT NOT NULL,
  structure TEXT NOT NULL,
  templates TEXT NOT NULL,
  scoring TEXT NOT NULL,
  embedding_model TEXT NOT NULL,
  next_embedding_model TEXT,
  revision INTEGER NOT NULL,
  nodes INTEGER NOT NULL,
  tokens INTEGER NOT NULL,
  texts INTEGER NOT NULL,
  children INTEGER NOT NULL,
  schema_version INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  UNIQUE (tenant, id)
) STRICT;

CREATE TABLE labels (
  tenant TEXT NOT NULL,
  name TEXT NOT NULL,
  value TEXT NOT NULL,
  id TEXT NOT NULL,
  memory INTEGER NOT NULL,
  PRIMARY KEY (tenant, name, value, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX labels_of_memory ON labels (memory);

CREATE TABLE revisions (
  memory INTEGER NOT NULL,
  revision INTEGER NOT NULL,
  author TEXT NOT NULL,
  message TEXT NOT NULL,
  time INTEGER NOT NULL,
  first_state INTEGER NOT NULL,
  last_state INTEGER NOT NULL,
  PRIMARY KEY (memory, revision)
) STRICT, WITHOUT ROWID;

CREATE TABLE inbox (
  memory INTEGER NOT NULL,
  job TEXT NOT NULL,
  step TEXT NOT NULL,
  revision INTEGER NOT NULL,
  result TEXT NOT NULL,
  time INTEGER NOT NULL,
  PRIMARY KEY (memory, job, step)
) STRICT, WITHOUT ROWID;
CREATE INDEX inbox_by_age ON inbox (memory, time);

CREATE TABLE states (
  row INTEGER PRIMARY KEY AUTOINCREMENT,
  memory INTEGER NOT NULL,
  id TEXT NOT NULL,
  type TEXT NOT NULL,
  parent TEXT,
  path TEXT NOT NULL,
  depth INTEGER NOT NULL,
  born INTEGER NOT NULL,
  died INTEGER NOT NULL,
  head INTEGER NOT NULL,
  children INTEGER NOT NULL,
  tokens INTEGER NOT NULL,
  attributes TEXT NOT NULL,
  metadata TEXT NOT NULL,
  text TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX states_by_id ON states (memory, id, born);
CREATE UNIQUE INDEX states_by_history ON states (memory, path, born);
CREATE UNIQUE INDEX states_by_path ON states (memory, path) WHERE head = 1;
CREATE UNIQUE INDEX states_by_type ON states (memory, type, path) WHERE head = 1;
CREATE UNIQUE INDEX states_by_depth ON states (memory, depth, path) WHERE head = 1;
CREATE UNIQUE INDEX states_by_depth_and_type ON states (memory, depth, type, path) WHERE head = 1;
CREATE INDEX states_by_death ON states (memory, died) WHERE head = 0;

CREATE TABLE schema_types (
  memory INTEGER NOT NULL,
  type TEXT NOT NULL,
  count INTEGER NOT NULL,
  PRIMARY KEY (memory, type)
) STRICT, WITHOUT ROWID;

CREATE TABLE schema_names (
  memory INTEGER NOT NULL,
  type TEXT NOT NULL,
  section TEXT NOT NULL,
  name TEXT NOT NULL,
  kind TEXT NOT NULL,
  count INTEGER NOT NULL,
  texts INTEGER NOT NULL,
  PRIMARY KEY (memory, type, section, name, kind)
) STRICT, WITHOUT ROWID;

CREATE TABLE schema_relations (
  memory INTEGER NOT NULL,
  parent TEXT NOT NULL,
  child TEXT NOT NULL,
  count INTEGER NOT NULL,
  PRIMARY KEY (memory, parent, child)
) STRICT, WITHOUT ROWID;
`;

/**
 * A vector set is the vectors of one field under one model; its id is never used twice, and a vector that is replaced gets a
 * new sequence number, so that "what is new in this set" is an index range. `live` counts those of head states.
 */
const VECTORS: Migration = `
CREATE TABLE vector_sets (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  memory INTEGER NOT NULL,
  model TEXT NOT NULL,
  field TEXT NOT NULL,
  dimension INTEGER NOT NULL,
  live INTEGER NOT NULL,
  UNIQUE (memory, model, field)
) STRICT;

CREATE TABLE vectors (
  sequence INTEGER PRIMARY KEY AUTOINCREMENT,
  vector_set INTEGER NOT NULL,
  state INTEGER NOT NULL,
  windowed INTEGER NOT NULL,
  vector BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX vectors_by_state ON vectors (vector_set, state);
CREATE INDEX vectors_by_sequence ON vectors (vector_set);
`;

/**
 * A term set is the index of one field. `documents.terms` lists a document's terms (32-bit numbers, little-endian), so that
 * the end of a state finds the frequencies to lower without an index over all postings.
 */
const TERMS: Migration = `
CREATE TABLE term_sets (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  memory INTEGER NOT NULL,
  field TEXT NOT NULL,
  documents INTEGER NOT NULL,
  UNIQUE (memory, field)
) STRICT;

CREATE TABLE terms (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  term_set INTEGER NOT NULL,
  term TEXT NOT NULL,
  frequency INTEGER NOT NULL,
  UNIQUE (term_set, term)
) STRICT;

CREATE TABLE postings (
  term INTEGER NOT NULL,
  state INTEGER NOT NULL,
  weight REAL NOT NULL,
  PRIMARY KEY (term, state)
) STRICT, WITHOUT ROWID;

CREATE TABLE documents (
  term_set INTEGER NOT NULL,
  state INTEGER NOT NULL,
  terms BLOB NOT NULL,
  PRIMARY KEY (term_set, state)
) STRICT, WITHOUT ROWID;
`;

const SIDE: Migration = `
CREATE TABLE blobs (
  tenant TEXT NOT NULL,
  key TEXT NOT NULL,
  memory TEXT,
  expires_at INTEGER NOT NULL,
  bytes BLOB NOT NULL,
  PRIMARY KEY (tenant, key)
) STRICT;
CREATE INDEX blobs_of_memory ON blobs (tenant, memory) WHERE memory IS NOT NULL;
CREATE INDEX blobs_by_expiry ON blobs (expires_at);

CREATE TABLE api_keys (
  hash TEXT PRIMARY KEY,
  tenant TEXT NOT NULL,
  id TEXT NOT NULL,
  name TEXT NOT NULL,
  scopes TEXT NOT NULL,
  memory_prefix TEXT,
  created_at INTEGER NOT NULL,
  expires_at INTEGER,
  UNIQUE (tenant, id)
) STRICT;
`;

const TENANTS: Migration = `
CREATE TABLE tenants (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  weight REAL NOT NULL,
  limits TEXT NOT NULL,
  suspended_at INTEGER,
  deleted_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX tenants_by_name ON tenants (name, id);
CREATE UNIQUE INDEX api_keys_by_id ON api_keys (id);
`;

const BYTES: Migration = `
ALTER TABLE memories ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;
UPDATE memories SET bytes = (
  SELECT coalesce(sum(octet_length(type) + octet_length(attributes) + octet_length(metadata)), 0)
  FROM states WHERE memory = memories.row AND head = 1
);
CREATE INDEX memories_by_counts ON memories (tenant, nodes, bytes);
`;

/** The path of the last node that the index of a field has, until it has them all. */
const INDEXED_TO: Migration = `
ALTER TABLE term_sets ADD COLUMN indexed_to TEXT;
`;

/** The tables of `espalier.db`: what must not be lost. */
export const TREE_MIGRATIONS: readonly Migration[] = [TREES + VECTORS + TERMS + SIDE, TENANTS, BYTES, INDEXED_TO];

/**
 * The tables of `espalier-cache.db`: what can be computed again. A row's age is its row id. The counters spare a count of
 * all rows before each write.
 */
export const CACHE_MIGRATIONS: readonly Migration[] = [
  `
CREATE TABLE embeddings (
  row INTEGER PRIMARY KEY AUTOINCREMENT,
  tenant TEXT NOT NULL,
  hash TEXT NOT NULL,
  windowed INTEGER NOT NULL,
  vector BLOB NOT NULL,
  UNIQUE (tenant, hash)
) STRICT;

CREATE TABLE entailments (
  row INTEGER PRIMARY KEY AUTOINCREMENT,
  tenant TEXT NOT NULL,
  hash TEXT NOT NULL,
  value REAL NOT NULL,
  UNIQUE (tenant, hash)
) STRICT;

CREATE TABLE sizes (
  name TEXT PRIMARY KEY,
  count INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO sizes VALUES ('embeddings', 0), ('entailments', 0);
`,
];
