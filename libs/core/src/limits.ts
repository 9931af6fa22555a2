/**
 * Every named maximum of the product with its reason. Wire limits (api.md, "Limits") can be overridden by configuration;
 * each has an error code of its own in the registry.
 */
export const LIMITS = {
  /** Bytes of a request body: one insert of 50,000 short nodes fits. */
  bodyBytes: 32 * 1024 * 1024,
  /** Bytes of a body that is parsed and checked on the event loop, which takes some milliseconds; larger ones get a thread. */
  inlineBodyBytes: 256 * 1024,
  /** Threads of an API process for large bodies: others need the cores too. */
  largeBodyThreads: 2,
  /** Large bodies that wait for such a thread: half a gigabyte at most, and a few seconds each. */
  largeBodiesWaiting: 16,
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
  /** Aggregates of a query: each is a part of one statement. */
  queryAggregates: 128,
  /** Predicates of one step. */
  stepPredicates: 8,
  /** Warnings of one query that are told; the rest are counted. */
  queryWarnings: 20,
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
  /** Evidence nodes of all aggregates of one step, over all their chains: bounds the time and memory of one store call. */
  evidenceNodes: 500_000,
  /** Nodes of one set, or evidence of one node, that a trace shows; it always has the counts. */
  traceNodes: 200,
  /** Nodes of the first wave that a costly scorer is asked about; waves double, so that later ones are few. */
  pruningWave: 256,
  /** Nodes of all subtrees of one result. */
  subtreeNodes: 10_000,
  /** Characters of one position key before its siblings are re-keyed. */
  positionKeyLength: 64,
  /** Bytes of a job payload kept in Redis; a larger one is kept by reference. */
  payloadBytes: 32 * 1024,
  /** Bytes of a job result kept in Redis; a larger one is kept by reference. */
  resultBytes: 256 * 1024,
  /** Bytes of Redis that a tenant's ended jobs and their results take; of more, the oldest leave before their hour is over. */
  endedJobsBytes: 32 * 1024 * 1024,
  /** The same for failed jobs and dead letters, with the payloads that a replay needs. */
  failedJobsBytes: 64 * 1024 * 1024,
  /** Items of a page of any list. */
  pageItems: 1_000,
  /** Event streams that one API process keeps open: each holds a connection and a buffer. A tenant has half at most. */
  eventStreams: 1_000,
  /** Requests that wait for their jobs in one API process: each holds a connection (about 15 KB). A tenant has half at most. */
  waitingRequests: 20_000,
  /** Waiters that look for themselves at once, in turns: however many wait, that is what they cost Redis. */
  polledWaiters: 500,
  /** Webhooks of a tenant: each is looked at whenever a job of the tenant ends. */
  webhooks: 20,
  /** UTF-16 characters of a webhook's URL. */
  webhookUrlLength: 2_048,
  /** Deliveries kept per webhook (about 1 KB each); one that has as many waiting takes no more and is disabled. */
  webhookDeliveries: 10_000,
  /** Requests to one webhook at once: a receiver is not flooded, and one that hangs holds few sockets. */
  webhookRequests: 8,
  /** Bytes of a webhook's answer that are read; only its status says anything. */
  webhookAnswerBytes: 16 * 1024,
  /** UTF-8 bytes of a tenant's name. */
  tenantNameBytes: 256,
  /** Milliseconds that deleting a tenant waits for its running jobs to stop, and that one request spends on its memories. */
  tenantStopMs: 10_000,
  tenantDeletionMs: 60_000,
  /** Weights of tenants: beyond a hundredfold either way one would hardly ever have a turn. */
  tenantLeastWeight: 0.01,
  tenantMostWeight: 100,
  /** What a tenant's limit of requests per second can be: one in 100 s to more than the servers take. */
  tenantLeastRate: 0.01,
  tenantMostRate: 1_000_000,
  /** Seconds that a key which was rotated can stay valid beside the new one. */
  keyOverlapSeconds: 30 * 86_400,
  /** Requests of a tenant in a second unless it is told otherwise: far more than agents send, less than a loop gone wild. */
  tenantRequestsPerSecond: 1_000,
  /** Requests of such a tenant that may come at once after a rest: thousands of agents that start together are no loop. */
  tenantBurst: 10_000,
  /** Jobs of a tenant that wait in a lane, and their bytes, unless it is told otherwise: Redis holds them in memory. */
  tenantQueuedJobs: 10_000,
  tenantQueuedBytes: 64 * 1024 * 1024,
  /** Jobs of a tenant in flight in a lane, unless it is told otherwise. */
  tenantInFlight: 1_000,
  /** Memories of a tenant unless it is told otherwise: one for each of many users, and some 100 MB of rows. */
  tenantMemories: 100_000,
  /** API keys of a tenant that have not ended, unless it is told otherwise: one for each of many agents. */
  tenantKeys: 10_000,
  /** Ended API keys of a tenant that are still listed; of more, those that ended first go when a key is made. */
  endedKeys: 1_000,
  /** Idempotency keys that are remembered of a tenant at once (some 1 KB each, for a day), unless it is told otherwise. */
  tenantIdempotencyKeys: 200_000,
  /** Bytes of a kept answer that count as one key more: most have 1 KB, those with many templates a thousand times as much. */
  idempotencyAnswerBytes: 4_096,
  /** Bytes of an `Idempotency-Key`. */
  idempotencyKeyBytes: 255,
  /** Items in one call of a local model: larger batches are slower on CPUs. */
  modelBatchItems: 32,
  /** Padded tokens in one call of a local model: keeps a call, and so the wait of the next query, near a quarter of a second. */
  modelBatchTokens: 2_048,
  /** Items waiting for one model: more is back-pressure (`model_overloaded`), not memory. */
  modelQueueItems: 20_000,
  /** Waiting items among which a batch is put together: sorting them costs far less than the batch. */
  modelBatchCandidates: 1_024,
  /** Failed runs after which the items that break one batch are no longer looked for by halving but one by one: two of 32 need ten. */
  modelBatchFailures: 12,
  /** Items that a model refused and a process remembers, and for how many milliseconds: a query need not ask for them again. */
  refusedItems: 10_000,
  refusedItemMs: 600_000,
  /** Requests in flight to a server that batches by itself: it always has the next batch at hand. */
  modelRequestsInFlight: 3,
  /** Further attempts of one request to a model server after 429, 5xx or a lost connection; then the job's own retries. */
  modelRequestRetries: 3,
  /** Milliseconds that one request to a model server may take. */
  modelRequestMs: 60_000,
  /** Longest pause that a model server's Retry-After can ask of a running job. */
  modelRetryAfterMs: 20_000,
  /** Local models held open at once: memories under an older model stay readable while they are moved. */
  openModels: 4,
  /** Items that go to a model between two writes of the persistent cache: a killed job loses at most two such waves. */
  modelWaveItems: 256,
  /** Keys in one read of a persistent cache, and missing vectors fetched at once. */
  cacheKeys: 1_000,
  /** Bytes of vectors in the in-process cache (about 40,000 of 384 dimensions). */
  processCacheBytes: 64 * 1024 * 1024,
  /** Entailment values in the in-process cache. */
  processCacheValues: 200_000,
  /** Plannings of one insert against a head that other processes move; then the job is tried again later. */
  commitAttempts: 8,
  /** Nodes in one change set or one read of maintenance: other writers of the memory wait for no more than one. */
  maintenancePageNodes: 500,
  /** Parsed and validated queries kept by a process: a parse is cheap, a validation reads the schema. */
  cachedQueries: 2_000,
  /** Schemas kept by a process. */
  cachedSchemas: 500,
  /** Prepared statements that a connection keeps, of those that give objects and of those that give arrays: their texts are few, but a query's shape is in them. */
  preparedStatements: 512,
  /** Characters of statements that are kept by what they were made from, with that. */
  preparedCharacters: 4 * 1024 * 1024,
  /** Milliseconds that a store call waits for the locks of other processes: longer than the largest change set takes. */
  storeLockWaitMs: 20_000,
  /** Bytes of keys, vectors and postings that a process holds of the memories it reads (about 300,000 nodes of 384 dimensions), unless it is told otherwise. */
  memoryImageBytes: 512 * 1024 * 1024,
  /** Milliseconds by which clocks of processes may differ: what another one said would expire stays so much longer. */
  clockSkewMs: 2 * 3_600_000,
  /** Rows of a tenant that one count of the outbox goes through: more says no more. */
  relayTenantRows: 10_000,
  /** Milliseconds that one request to the vector store may take: far more than the slowest healthy one, less than a caller waits. */
  storeCallMs: 15_000,
  /** Further attempts of one request to the vector store after a lost connection, over some 3 s: five runs of a query fit into the time that its caller waits. */
  storeCallRetries: 4,
  /** Connections of a process to the vector store: 100 queries at once wait for one another's answers, not for sockets. */
  storeConnections: 64,
  /** Words whose stems a process keeps: some 2 MB. */
  keptStems: 20_000,
  /** Points named in one request, or on one page, of the vector store: 4 ms of its work. */
  storePoints: 1_000,
  /** Rows of one answer of the vector store: 1 to 2 s of its work, and 4 MB; of more, scores are read page by page. */
  storeRows: 15_000,
  /** Requests of one call that are in flight to the vector store: it has few cores. */
  storeRequestsInFlight: 4,
  /** Bytes of one request that stores points: a fourth of what Qdrant accepts. */
  storeBatchBytes: 8 * 1024 * 1024,
  /** Candidates below which a search in the vector store is exact, unless it is told otherwise (ADR 0090). */
  exactBelow: 20_000,
  /** Texts with a term of the condition up to which a hybrid search is one request: it scores all of them, 1 to 2 ms a thousand. */
  hybridMatches: 10_000,
  /** Contexts that a filter in the vector store names; with more, several are sent. */
  filterContexts: 1_000,
  /** Texts in one read of those whose points are not stored yet: a query that weighs them itself holds no more at a time. */
  pendingPageTexts: 2_000,
  /** Tenants of one look at the outbox; those that wait longest are in it. */
  relayTenants: 1_000,
  /** Texts of a claim: enough for two batches of a local model, little enough that a lost one costs a minute. */
  relayBatchRows: 64,
  /** Texts for which it is worth to wait for more while the model has its next claim at hand. */
  relayBatchFewRows: 16,
  /** Tokens of a claim: about what a model server takes at once. */
  relayBatchTokens: 8_192,
  /** Tokens that a tenant may claim each time it is its turn; four tenants share a claim. */
  relayQuantumTokens: 2_048,
  /** Milliseconds that a claim may wait and be worked on: longer than a dead worker's claim needs to run again elsewhere. */
  rowLeaseMs: 180_000,
  /** Failures of one text before it is given up: an offender is found in the first, the rest is for models that recover. */
  rowFailures: 5,
  /** Milliseconds before a row is tried again: after the first failure (it doubles), at most, and under back-pressure. */
  rowRetryMs: 2_000,
  rowRetryMaxMs: 60_000,
  rowPressureMs: 2_000,
  /**
   * Milliseconds that a deleted memory is remembered after the last sign of its deletion: whoever had read it before has stored
   * or dropped its points by then (all tries of the requests of a page).
   */
  tombstoneMs: 600_000,
  /** Points that a comparison of two stores holds at once (about 100 MB); a larger memory is walked several times. */
  reconcilePoints: 500_000,
  /** Milliseconds after which a query looks again whether the points of its memory are there: as long an answer can lack them. */
  lostPointsMs: 5_000,
  /** Rows under way with which comparing a memory says little: it is left to the next sweep. */
  reconcileBusyRows: 1_000,
  /** Milliseconds that a call of a persistent cache may take: asking the model anew takes no longer. */
  cacheCallMs: 2_000,
  /** Vectors in the tenants' persistent caches together (about 1 GB of 384 dimensions); the oldest go first. */
  cachedEmbeddings: 500_000,
  /** Entailment values in the tenants' persistent caches together; the oldest go first. */
  cachedEntailments: 5_000_000,
  /** Vectors of one tenant's cache in Redis (about 30 MB of 384 dimensions); the oldest go first. */
  tenantCachedEmbeddings: 20_000,
  /** Entailment values of one tenant's cache in Redis; the oldest go first. */
  tenantCachedEntailments: 200_000,
} as const;

/** Seconds of retention. */
export const RETENTION_SECONDS = {
  /** A job's status and result. */
  job: 3_600,
  /** A failed job's status. */
  failedJob: 7 * 86_400,
  /** A job that was given up, with its payload. */
  deadLetter: 30 * 86_400,
  /** A delivery of a webhook. */
  delivery: 7 * 86_400,
  /** A webhook's old secret after a rotation: both sign until then. */
  webhookSecret: 86_400,
  /** An idempotency key with its answer. */
  idempotency: 86_400,
  /** An inbox row. */
  inbox: 7 * 86_400,
  /** What a tenant used on a day (about 0.5 KB): a quarter of a year, for who is billed by the month. */
  usage: 100 * 86_400,
  /** A row of a persistent cache in Redis; where a tenant writes nothing any more, twice that at most. */
  cache: 7 * 86_400,
} as const;
