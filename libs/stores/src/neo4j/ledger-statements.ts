const KEY_COLUMNS = `n.id AS id, n.born AS born, n.type AS type, n.parent AS parent, n.pathKey AS pathKey, n.depth AS depth,
  CASE WHEN n.died <= m.revision THEN n.died END AS died`;

/** The text of the field, or the attributes that it is cut from. */
const SOURCE_COLUMN = "CASE $field WHEN '' THEN n.text ELSE n.attributes END AS source";

/** The statements of the point ledger. `$memory` is the memory's key. */
export const LEDGER = {
  memory: `
MATCH (m:Memory {key: $memory})
RETURN m.embeddingModel AS model, m.nextEmbeddingModel AS next, m.revision AS revision`,

  /** One row says that the memory is there. */
  sources: `
MATCH (m:Memory {key: $memory})
UNWIND $refs + [null] AS ref
OPTIONAL MATCH (n:Node {memory: m.key, id: ref.id, born: toInteger(ref.born)}) USING INDEX SEEK n:Node(memory, id, born)
WHERE n.born <= m.revision
WITH m, ref, n WHERE ref IS NULL OR n IS NOT NULL
RETURN ref.field AS field, CASE ref.field WHEN '' THEN n.text ELSE n.attributes END AS source, ${KEY_COLUMNS}`,

  isTracked: `
MATCH (m:Memory {key: $memory})
OPTIONAL MATCH (t:Tracked {memory: m.key, model: $model, field: $field})
RETURN t.done AS done, $model IN [m.embeddingModel, m.nextEmbeddingModel] AS current`,

  /**
   * States of `$ranges` of path keys, in document order as the index has them: no more rows are read than it takes to find
   * `$limit`. Those of `$parents` and of `$type` are looked out among them.
   */
  pending: `
MATCH (m:Memory {key: $memory})
UNWIND $ranges AS range
CALL (m, range) {
  MATCH (o:Outbox) USING INDEX SEEK o:Outbox(memory, model, field, task, path)
  WHERE o.memory = $memory AND o.model = $model AND o.field = $field AND o.task = 'vector' AND o.path > range.low
    AND o.path < range.high AND o.revision <= m.revision
  MATCH (n:Node {memory: $memory, id: o.id, born: o.born}) USING INDEX SEEK n:Node(memory, id, born)
  WHERE n.born <= toInteger($revision) AND n.died > toInteger($revision)
    AND ($type IS NULL OR n.type = $type) AND ($parents IS NULL OR n.parent IN $parents)
  RETURN n ORDER BY o.memory, o.model, o.field, o.task, o.path LIMIT toInteger($limit)
}
RETURN $field AS field, ${SOURCE_COLUMN}, ${KEY_COLUMNS}
LIMIT toInteger($limit)`,

  /** Those of the rows `$keys` that wait for their vectors. */
  pendingAmong: `
MATCH (m:Memory {key: $memory})
UNWIND $keys AS key
MATCH (o:Outbox {key: key}) USING INDEX SEEK o:Outbox(key) WHERE o.task = 'vector' AND o.revision <= m.revision
MATCH (n:Node {memory: o.memory, id: o.id, born: o.born}) USING INDEX SEEK n:Node(memory, id, born)
RETURN $field AS field, ${SOURCE_COLUMN}, ${KEY_COLUMNS}`,

  /** One row at least; a row for each state that has ended. Without `$model` it is the memory's own. */
  standing: `
MATCH (m:Memory {key: $memory})
WITH m, coalesce($model, m.embeddingModel) AS model
OPTIONAL MATCH (t:Tracked {memory: m.key, model: model, field: $field})
WITH m, model, coalesce(t.done, false) AS done
CALL (m, model) {
  OPTIONAL MATCH (o:Outbox) USING INDEX SEEK o:Outbox(memory, model, field, task, path)
  WHERE o.memory = m.key AND o.model = model AND o.field = $field AND o.task = 'vector' AND o.path >= ''
    AND o.revision <= m.revision
  RETURN o IS NOT NULL AS waits LIMIT 1
}
OPTIONAL MATCH (o:Outbox) USING INDEX SEEK o:Outbox(memory, model, field, task, path)
WHERE o.memory = m.key AND o.model = model AND o.field = $field AND o.task = 'payload' AND o.path >= ''
  AND o.revision <= m.revision
OPTIONAL MATCH (n:Node {memory: o.memory, id: o.id, born: o.born}) USING INDEX SEEK n:Node(memory, id, born)
RETURN model, m.nodes AS nodes, waits OR NOT done AS waits, o.id AS id, o.born AS born, CASE WHEN n.died <= m.revision THEN n.died END AS died
LIMIT toInteger($limit)`,

  /**
   * Points that were stored as `$points` tell, under the locks of the memory and of the tenant. The row of one whose state is
   * as told goes. One whose state has ended otherwise keeps or gets a row for its payload, visible with that end: an end of a
   * revision that is not committed counts too, for its own row was not written while this one was there.
   */
  settle: `
UNWIND $points AS point
OPTIONAL MATCH (n:Node {memory: $memory, id: point.id, born: toInteger(point.born)}) USING INDEX SEEK n:Node(memory, id, born)
WITH point, n, n IS NULL OR n.died = toInteger(point.died) AS isTold
CALL (point, isTold) {
  WITH point, isTold WHERE isTold
  MATCH (o:Outbox {key: point.key}) USING INDEX SEEK o:Outbox(key)
  DELETE o
}
CALL (point, n, isTold) {
  WITH point, n, isTold WHERE NOT isTold
  MERGE (o:Outbox {key: point.key})
  ON CREATE SET o.memory = $memory, o.tenant = $tenant, o.id = point.id, o.born = toInteger(point.born), o.model = $model,
    o.field = point.field, o.path = n.pathKey, o.seq = timestamp()
  SET o.task = 'payload', o.revision = CASE WHEN n.died < toInteger($never) THEN n.died ELSE n.born END, o.tokens = 0, o.waiting = $tenant, o.due = 0, o.failures = 0
  REMOVE o.job, o.claim, o.failed, o.error
}`,

  /** The last of `$points` of each field, as they were told. */
  witness: `
UNWIND $points AS point
MATCH (t:Tracked {memory: $memory, model: $model, field: point.field})
SET t.lastKey = point.key, t.lastId = point.id, t.lastBorn = toInteger(point.born), t.lastDied = toInteger(point.died)`,

  /** Under the memory's own model, one row at least. */
  witnesses: `
MATCH (m:Memory {key: $memory})
OPTIONAL MATCH (t:Tracked {memory: m.key, model: m.embeddingModel})
WHERE t.field >= '' AND t.lastKey IS NOT NULL AND NOT EXISTS { MATCH (o:Outbox {key: t.lastKey}) }
RETURN m.embeddingModel AS model, t.field AS field, t.lastId AS id, t.lastBorn AS born, t.lastDied AS died`,

  /** One row with the text's field says that the memory is there. */
  indexedFields: `
MATCH (m:Memory {key: $memory})
OPTIONAL MATCH (t:Terms {memory: m.key}) WHERE t.field > ''
RETURN t.field AS field
ORDER BY field`,

  lockHead: `
MATCH (m:Memory {key: $memory})
SET m.locked = true
RETURN m.revision AS revision, m.embeddingModel AS model, m.nextEmbeddingModel AS next`,

  isIndexed: `
MATCH (m:Memory {key: $memory})
OPTIONAL MATCH (t:Terms {memory: m.key, field: $field})
RETURN t IS NOT NULL AND t.since IS NULL AS indexed`,

  /** The last row, without a term, is of the field; its revision is read after what it counts. */
  statistics: `
UNWIND $terms AS term
MATCH (t:Term {memory: $memory, field: $field, term: term}) WHERE t.documents > 0
RETURN term, t.documents AS documents, null AS revision
UNION ALL
MATCH (m:Memory {key: $memory})
OPTIONAL MATCH (t:Terms {memory: m.key, field: $field}) WHERE t.since IS NULL
RETURN null AS term, coalesce(t.documents, 0) AS documents, m.revision AS revision`,
} as const;
