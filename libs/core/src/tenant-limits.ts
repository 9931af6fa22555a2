/** What one tenant may have at most. A limit that is absent does not exist. */
export interface TenantLimits {
  /** Requests that may begin per second, over time and over all API processes. */
  readonly requestsPerSecond?: number;
  /** Requests that may begin at once after a rest; at least 1. Absent: those of two seconds. */
  readonly burst?: number;
  /** Jobs of one lane that wait for their turn, and their bytes. */
  readonly queuedJobs?: number;
  readonly queuedBytes?: number;
  /** Jobs of one lane that are released or run. */
  readonly inFlight?: number;
  /** Live nodes of all memories. */
  readonly nodes?: number;
  /** UTF-8 bytes of what these nodes say: their types, attributes and metadata. */
  readonly bytes?: number;
  /** Memories, with nodes or without. */
  readonly memories?: number;
  /** API keys that have not ended. */
  readonly keys?: number;
  /** Idempotency keys of requests that are remembered at once; jobs have entries of their own. */
  readonly idempotencyKeys?: number;
}

/** What the record of a tenant says: absent is the deployment's default, `unlimited` that there is no limit. */
export type OwnTenantLimits = Pick<TenantLimits, "burst"> &
  Readonly<Partial<Record<Exclude<keyof TenantLimits, "burst">, number | "unlimited">>>;
