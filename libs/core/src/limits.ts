/**
 * Every named maximum of the product with its reason. Wire limits (api.md, "Limits") can be overridden by configuration;
 * each has an error code of its own in the registry.
 */
export const LIMITS = {
  /** Bytes of a request body: one insert of 50,000 short nodes fits. */
  bodyBytes: 32 * 1024 * 1024,
  /** Nodes in one insert: one change set stays one bounded transaction. */
  insertNodes: 50_000,
  /** Depth of a tree below the root: bounds recursion and the length of a path key. */
  treeDepth: 64,
  /** Children of one node. */
  nodeChildren: 100_000,
  /** UTF-8 bytes of one attribute's text. */
  attributeBytes: 64 * 1024,
  /** Attributes (and, separately, metadata entries) of one node. */
  nodeAttributes: 64,
  /** Characters (code points, NFC) of a Name. */
  nameLength: 128,
  /** Labels of a memory, and UTF-8 bytes of one label's value. */
  memoryLabels: 32,
  labelBytes: 256,
  /** UTF-8 bytes of a memory's name. */
  memoryNameBytes: 512,
  /** UTF-8 bytes of a query's text. */
  queryBytes: 8 * 1024,
  /** Steps of a query, and of a path in an aggregate. */
  querySteps: 16,
  /** Nesting of brackets, parentheses, folds and complements. */
  queryNesting: 16,
  /** Predicates of one step. */
  stepPredicates: 8,
  /** UTF-8 bytes of one string literal. */
  queryStringBytes: 2 * 1024,
  /** Rows of a result. */
  topK: 10_000,
  /** Seconds that `Prefer: wait` can ask for; more is clamped. */
  waitSeconds: 120,
  /** Seconds that a read waits when nothing is said. */
  defaultReadWaitSeconds: 30,
  /** Evidence rows of one result row. */
  evidenceRows: 100,
  /** Nodes of one returned subtree. */
  subtreeNodes: 10_000,
  /** Characters of one position key before its siblings are re-keyed. */
  positionKeyLength: 64,
  /** Bytes of a job payload kept in Redis; a larger one is kept by reference. */
  payloadBytes: 32 * 1024,
  /** Bytes of a job result kept in Redis; a larger one is kept by reference. */
  resultBytes: 256 * 1024,
  /** Items of a page of any list. */
  pageItems: 1_000,
  /** Bytes of an `Idempotency-Key`. */
  idempotencyKeyBytes: 255,
} as const;

/** Seconds of retention. */
export const RETENTION_SECONDS = {
  /** A job's status and result. */
  job: 3_600,
  /** A failed job's status. */
  failedJob: 7 * 86_400,
  /** An idempotency key with its answer. */
  idempotency: 86_400,
  /** An inbox row. */
  inbox: 7 * 86_400,
} as const;
