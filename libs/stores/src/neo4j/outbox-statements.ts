/** Columns of a row, of `o`. A property that is absent is null. */
const ROW_COLUMNS = `o.tenant AS tenant, o.memory AS memory, o.id AS id, o.born AS born, o.field AS field, o.model AS model,
  o.task AS task, o.tokens AS tokens, o.job AS job, o.failures AS failures`;

/** What the text of a row is cut from by the reader: its node's text, or its attributes as JSON. */
const SOURCE_COLUMN =
  "CASE o.task WHEN 'vector' THEN CASE o.field WHEN '' THEN n.text ELSE n.attributes END END AS source";

/** Tenants that one statement finds. */
export const NEXT_TENANTS = 16;

/** From each tenant by name one seek to the next. */
function nextTenants(): string {
  const seeks = Array.from({ length: NEXT_TENANTS }, (_, at) => {
    const before = at === 0 ? "$after" : `tenant${at - 1}`;
    return `CALL (${at === 0 ? "" : before}) {
  OPTIONAL MATCH (o:Outbox) USING INDEX SEEK o:Outbox(waiting, seq) WHERE o.waiting > ${before} AND o.seq >= 0
  RETURN o.waiting AS tenant${at} ORDER BY o.waiting, o.seq LIMIT 1
}`;
  });
  const names = seeks.map((_, at) => `tenant${at}`).join(", ");
  return `${seeks.join("\n")}\nRETURN [tenant IN [${names}] WHERE tenant IS NOT NULL] AS tenants`;
}

/**
 * The statements of the outbox. A row is visible when its memory is there and has reached the row's revision. Every
 * statement that changes rows runs under the tenant's lock (tenant-lock.ts).
 */
export const OUTBOX = {
  /** The next tenants by name that have rows: one seek each, `NEXT_TENANTS` of them. */
  tenantsAfter: `
${nextTenants()}`,

  /** The oldest free rows of each of `$tenants`, counted up to `$rows`. */
  ofTenants: `
UNWIND $tenants AS tenant
CALL (tenant) {
  MATCH (o:Outbox) USING INDEX SEEK o:Outbox(waiting, seq) WHERE o.waiting = tenant AND o.seq >= 0 AND o.due <= timestamp()
  MATCH (m:Memory {key: o.memory}) WHERE m.revision >= o.revision
  WITH o ORDER BY o.waiting, o.seq LIMIT toInteger($rows)
  RETURN count(*) AS rows, min(o.seq) AS since
}
RETURN tenant, rows, since`,

  /**
   * Takes the oldest free rows of `$tenant`: `$rows` of them, and no more once their sum reaches `$tokens`. The lock is taken
   * by the statement itself, before it looks.
   */
  claim: `
MERGE (l:TenantLock {number: toInteger($lock)})
SET l.held = true
WITH l
CALL (l) {
  MATCH (o:Outbox) USING INDEX SEEK o:Outbox(waiting, seq) WHERE o.waiting = $tenant AND o.seq >= 0 AND o.due <= timestamp()
  MATCH (m:Memory {key: o.memory}) WHERE m.revision >= o.revision
  RETURN o ORDER BY o.waiting, o.seq LIMIT toInteger($rows)
}
WITH collect(o) AS rows
WITH rows, reduce(sums = [0], o IN rows | sums + (last(sums) + o.tokens)) AS sums
UNWIND range(0, size(rows) - 1) AS at
WITH rows[at] AS o, at WHERE sums[at] < $tokens
SET o.claim = $claim, o.due = timestamp() + toInteger($leaseMs)
RETURN ${ROW_COLUMNS}
ORDER BY at`,

  /** The tenant of a claim that has rows. */
  tenantOfClaim: `
MATCH (o:Outbox {claim: $claim}) USING INDEX SEEK o:Outbox(claim)
RETURN o.tenant AS tenant LIMIT 1`,

  claimed: `
MATCH (o:Outbox {claim: $claim}) USING INDEX SEEK o:Outbox(claim)
SET o.due = timestamp() + toInteger($leaseMs)
WITH o
MATCH (m:Memory {key: o.memory})
OPTIONAL MATCH (n:Node {memory: o.memory, id: o.id, born: o.born}) USING INDEX SEEK n:Node(memory, id, born)
RETURN ${ROW_COLUMNS}, ${SOURCE_COLUMN}
ORDER BY o.seq, o.key`,

  release: `
MATCH (o:Outbox {claim: $claim}) USING INDEX SEEK o:Outbox(claim)
SET o.due = timestamp() + toInteger($afterMs)
REMOVE o.claim`,

  /** Rows of a claim, named by `$points` (id, born, field, model), are free again after `$afterMs`. */
  fail: `
MATCH (o:Outbox {claim: $claim}) USING INDEX SEEK o:Outbox(claim) WHERE [o.id, o.born, o.field, o.model] IN $points
SET o.failures = o.failures + 1, o.due = timestamp() + toInteger($afterMs)
REMOVE o.claim`,

  /** Rows of a claim, named by `$points`, are given up. */
  giveUp: `
MATCH (o:Outbox {claim: $claim}) USING INDEX SEEK o:Outbox(claim) WHERE [o.id, o.born, o.field, o.model] IN $points
SET o.failures = o.failures + 1, o.failed = $code, o.error = $message
REMOVE o.claim, o.waiting`,

  /** A tenant with rows that were given up. */
  tenantOfFailed: `
MATCH (o:Outbox) USING INDEX SEEK o:Outbox(failed) WHERE o.failed >= ''
RETURN o.tenant AS tenant LIMIT 1`,

  retryTenant: `
MATCH (o:Outbox) USING INDEX SEEK o:Outbox(failed) WHERE o.failed >= '' AND o.tenant = $tenant
WITH o LIMIT toInteger($limit)
SET o.waiting = o.tenant, o.due = 0, o.failures = 0
REMOVE o.failed, o.error
RETURN count(*) AS freed`,

  retryMemory: `
MATCH (o:Outbox) USING INDEX SEEK o:Outbox(memory, failed) WHERE o.memory = $memory AND o.failed >= ''
WITH o LIMIT toInteger($limit)
SET o.waiting = o.tenant, o.due = 0, o.failures = 0
REMOVE o.failed, o.error
RETURN count(*) AS freed`,

  /** The first visible row of a job is enough. */
  unfinished: `
UNWIND $jobs AS one
CALL (one) {
  MATCH (o:Outbox) USING INDEX SEEK o:Outbox(tenant, job) WHERE o.tenant = one.tenant AND o.job = one.job
  MATCH (m:Memory {key: o.memory}) WHERE m.revision >= o.revision
  RETURN o LIMIT 1
}
RETURN one.job AS job`,

  outstanding: `
UNWIND $jobs AS one
MATCH (o:Outbox) USING INDEX SEEK o:Outbox(tenant, job) WHERE o.tenant = one.tenant AND o.job = one.job
WITH one.job AS job, o.memory AS memory, o.revision AS revision, count(*) AS rows, count(o.failed) AS failed,
  min(o.failed + ' ' + o.error) AS error
MATCH (m:Memory {key: memory}) WHERE m.revision >= revision
RETURN job, sum(rows) AS rows, sum(failed) AS failed, min(error) AS error`,

  /** The states that `$states` name, with their texts. */
  states: `
UNWIND $states AS state
MATCH (n:Node {memory: $memory, id: state.id, born: toInteger(state.born)}) USING INDEX SEEK n:Node(memory, id, born)
RETURN n.id AS id, n.born AS born, n.pathKey AS pathKey, n.text AS text, n.tokens AS tokens, n.attributes AS attributes`,

  /** Memories after a key with the models they are tracked under, one row for each pair. */
  memories: `
MATCH (m:Memory) WHERE m.key > $after
WITH m ORDER BY m.key LIMIT toInteger($limit)
OPTIONAL MATCH (t:Tracked {memory: m.key}) WHERE t.model >= '' AND t.field >= ''
RETURN DISTINCT m.key AS key, m.tenant AS tenant, m.id AS memory, t.model AS model
ORDER BY key, model`,

  tombstones: `
MATCH (t:Tombstone) WHERE t.time <= timestamp() - toInteger($idleMs)
RETURN t.tenant AS tenant, t.memory AS memory
ORDER BY t.time LIMIT toInteger($limit)`,
} as const;
