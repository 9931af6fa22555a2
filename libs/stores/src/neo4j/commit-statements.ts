import { NODE_COLUMNS } from "./node-rows.js";

/** The statements of a commit. `$memory` is the memory's key, `$revision` the change set's number. */
export const COMMIT = {
  /**
   * Takes the memory's lock, which every write of the memory takes first, and reads the head. `stagedMs` is how long ago a
   * large change set last wrote to it; null if there is none.
   */
  lock: `
MATCH (m:Memory {key: $memory})
SET m.locked = true
WITH m
OPTIONAL MATCH (s:Staged) WHERE s.memory = m.key AND s.revision >= 0 AND s.batch >= -1
WITH m, timestamp() - max(s.time) AS stagedMs
RETURN m.revision AS revision, m.allocated AS allocated, m.embeddingModel AS model, stagedMs`,

  inbox: `
MATCH (m:Memory {key: $memory})
OPTIONAL MATCH (i:Inbox {memory: m.key, job: $job, step: $step})
RETURN i.revision AS revision, i.result AS result`,

  /** Fields whose terms are counted; that of the nodes' texts always is. */
  termFields: `
MATCH (t:Terms) WHERE t.memory = $memory AND t.field > ''
RETURN t.field AS field
ORDER BY field`,

  /** The live states of the ids. */
  live: `
UNWIND $ids AS id
MATCH (n:Node {memory: $memory, id: id}) USING INDEX SEEK n:Node(memory, id, born) WHERE n.died = toInteger($never) AND n.born <= toInteger($head)
RETURN n.children AS children, ${NODE_COLUMNS}`,

  /** Live children by type of nodes that change their type, without those that end. */
  staying: `
UNWIND $parents AS parent
MATCH (n:Node) USING INDEX SEEK n:Node(live, parent, pathKey) WHERE n.live = $memory AND n.parent = parent AND n.pathKey > '' AND n.died = toInteger($never)
  AND n.born <= toInteger($head) AND NOT n.id IN $ends
RETURN parent, n.type AS type, count(*) AS count`,

  allocate: `
MATCH (m:Memory {key: $memory})
SET m.allocated = toInteger($revision)`,

  createStates: `
UNWIND $rows AS row
CREATE (n:Node)
SET n = row`,

  /** `$links`: id of a new state, and the state of its parent. Two seeks for each, one after the other. */
  linkStates: `
UNWIND $links AS link
MATCH (parent:Node {memory: $memory, id: link.parent, born: toInteger(link.born)}) USING INDEX SEEK parent:Node(memory, id, born)
CALL (link) {
  MATCH (child:Node {memory: $memory, id: link.id, born: toInteger($revision)}) USING INDEX SEEK child:Node(memory, id, born)
  RETURN child
}
CREATE (parent)-[:CHILD]->(child)`,

  /** `keepEnded` remembers the ids for the time when no reader needs the ended states in the indexes of the head. */
  endStates: `
UNWIND $states AS state
MATCH (n:Node {memory: $memory, id: state.id, born: toInteger(state.born)}) USING INDEX SEEK n:Node(memory, id, born)
SET n.died = toInteger($revision)`,
  keepEnded: `
CREATE (e:Ended {memory: $memory, revision: toInteger($revision), batch: toInteger($batch), ids: $ids, time: timestamp()})`,

  /** Children that stay with a node that has a new state get an edge from it. Their others, and those of what ended, go with `unlink`. */
  relink: `
UNWIND $states AS state
MATCH (old:Node {memory: $memory, id: state.id, born: toInteger(state.born)}) USING INDEX SEEK old:Node(memory, id, born)
MATCH (new:Node {memory: $memory, id: old.id, born: toInteger($revision)}) USING INDEX SEEK new:Node(memory, id, born)
MATCH (old)-[:CHILD]->(child:Node) WHERE child.died = toInteger($never)
CREATE (new)-[:CHILD]->(child)`,
  unlink: `
UNWIND $states AS state
MATCH (old:Node {memory: $memory, id: state.id, born: toInteger(state.born)}) USING INDEX SEEK old:Node(memory, id, born)
MATCH (old)-[link:CHILD]-(:Node)
DELETE link`,

  countChildren: `
UNWIND $parents AS parent
MATCH (n:Node {memory: $memory, id: parent.id, born: toInteger(parent.born)}) USING INDEX SEEK n:Node(memory, id, born)
SET n.children = n.children + toInteger(parent.count)`,

  /** Answers the entries that appeared or disappeared. */
  countSchema: `
UNWIND $entries AS entry
MERGE (s:SchemaEntry {memory: $memory, entry: entry.entry})
ON CREATE SET s.count = 0
SET s.count = s.count + toInteger(entry.count)
WITH s, entry WHERE s.count = 0 OR s.count = toInteger(entry.count)
RETURN s.entry AS entry, s.count AS count`,
  removeSchema: `
UNWIND $entries AS entry
MATCH (s:SchemaEntry {memory: $memory, entry: entry})
DELETE s`,

  countDocuments: `
UNWIND $fields AS field
MERGE (t:Terms {memory: $memory, field: field.field})
ON CREATE SET t.documents = 0
SET t.documents = t.documents + toInteger(field.documents)`,
  countTerms: `
UNWIND $terms AS term
MERGE (t:Term {memory: $memory, field: term.field, term: term.term})
ON CREATE SET t.documents = 0
SET t.documents = t.documents + toInteger(term.documents)`,

  /** Ends a commit: the revision becomes the head, and with it everything of it visible. */
  finish: `
MATCH (m:Memory {key: $memory})
SET m.revision = toInteger($revision), m.allocated = toInteger($revision), m.nodes = m.nodes + toInteger($nodes),
  m.tokens = m.tokens + toInteger($tokens), m.bytes = m.bytes + toInteger($bytes), m.children = m.children + toInteger($children),
  m.schemaVersion = m.schemaVersion + toInteger($schemaChanges), m.updatedAt = toInteger($time),
  m.purged = CASE WHEN $ends THEN toInteger($revision) ELSE m.purged END
CREATE (:Revision {memory: $memory, revision: toInteger($revision), author: $author, message: $message,
  time: toInteger($time)})
CREATE (:Inbox {memory: $memory, job: $job, step: $step, revision: toInteger($revision), result: $result,
  time: timestamp()})`,
  /** By the server's clock: a worker whose own is wrong forgets nothing that can be asked for. */
  forgetInbox: `
MATCH (i:Inbox) WHERE i.memory = $memory AND i.time < timestamp() - toInteger($keepMs)
WITH i LIMIT toInteger($limit)
DELETE i`,
} as const;

/** The statements of large change sets: `(:Staged)` is one batch of states that are written and not yet visible. */
export const STAGED = {
  /** Batch 0 has no states: it stands for the writer, who stops when it is gone. */
  begin: `
CREATE (:Staged {memory: $memory, revision: toInteger($revision), batch: 0, ids: [], ends: [], time: timestamp()})`,

  /** The lock of the memory, and which batches of the change set are there. */
  batches: `
MATCH (m:Memory {key: $memory})
SET m.locked = true
WITH m
MATCH (s:Staged) WHERE s.memory = m.key AND s.revision = toInteger($revision) AND s.batch >= -1
RETURN s.batch AS batch`,

  add: `
CREATE (:Staged {memory: $memory, revision: toInteger($revision), batch: toInteger($batch), ids: $ids, ends: $ends,
  time: timestamp()})`,

  /** Terms that the end of the change set counts are made before, so that it only changes numbers. */
  prepareTerms: `
UNWIND $terms AS term
MERGE (t:Term {memory: $memory, field: term.field, term: term.term})
ON CREATE SET t.documents = 0`,

  end: `
MATCH (s:Staged) WHERE s.memory = $memory AND s.revision = toInteger($revision) AND s.batch >= -1
DELETE s`,

  /** Stops the writers of all change sets of the memory that are not committed. */
  stop: `
MATCH (m:Memory {key: $memory})
SET m.locked = true
WITH m
MATCH (s:Staged) WHERE s.memory = m.key AND s.revision >= 0 AND s.batch = 0
SET s.batch = -1`,

  /** How long ago a large change set last wrote to the memory; null if there is none. */
  age: `
MATCH (s:Staged) WHERE s.memory = $memory AND s.revision >= 0 AND s.batch >= -1
RETURN timestamp() - max(s.time) AS stagedMs`,

  left: `
MATCH (s:Staged) WHERE s.memory = $memory AND s.revision >= 0 AND s.batch >= -1
RETURN s.revision AS revision, s.batch AS batch
ORDER BY s.batch DESC LIMIT 1`,

  removeStates: `
MATCH (s:Staged {memory: $memory, revision: toInteger($revision), batch: toInteger($batch)})
UNWIND s.ids AS id
MATCH (n:Node {memory: $memory, id: id, born: s.revision}) USING INDEX SEEK n:Node(memory, id, born)
DETACH DELETE n`,
  reviveStates: `
MATCH (s:Staged {memory: $memory, revision: toInteger($revision), batch: toInteger($batch)})
UNWIND s.ends AS id
MATCH (n:Node {memory: $memory, id: id}) USING INDEX SEEK n:Node(memory, id, born) WHERE n.born < s.revision AND n.died = s.revision
SET n.died = toInteger($never)`,
  removeRows: `
MATCH (o:Outbox) USING INDEX SEEK o:Outbox(memory, revision) WHERE o.memory = $memory AND o.revision = toInteger($revision)
WITH o LIMIT toInteger($limit)
DELETE o
RETURN count(*) AS removed`,
  remove: `
MATCH (s:Staged {memory: $memory, revision: toInteger($revision), batch: toInteger($batch)})
DELETE s`,
} as const;
