/** How the driver is used, with the reasons. Sizes of transactions are beside the statements that they bound. */
export const DRIVER_SETTINGS = {
  /** Connections of a process: a worker runs 50 jobs at once, each has one transaction at a time; the rest is for polling. */
  maxConnectionPoolSize: 64,
  /** Milliseconds that a call waits for a free connection: longer means that the pool is too small or the server too slow. */
  connectionAcquisitionTimeout: 10_000,
  /** Milliseconds of a TCP and TLS connect: a server that is there answers within one. */
  connectionTimeout: 5_000,
  /** Milliseconds after which an idle connection is asked whether it lives: firewalls forget silent ones after minutes. */
  connectionLivenessCheckTimeout: 30_000,
  /** Milliseconds of the driver's retries of deadlocks and lost connections; a longer outage is for the job's own back-off. */
  maxTransactionRetryTime: 8_000,
  /** Rows of one fetch: 30,000 rows arrive in 75 ms; by 100, in 150 ms. */
  fetchSize: 5_000,
} as const;

/** Milliseconds after which the server ends a reading transaction: the largest evidence takes a few seconds. */
export const READ_MS = 30_000;

/** Milliseconds after which the server ends a writing transaction and frees its locks: the end of the largest change set takes some seconds. */
export const WRITE_MS = 60_000;

/** Milliseconds of a call with its retries; a server that says nothing at all is not waited for any longer. */
export const CALL_MS = 75_000;
