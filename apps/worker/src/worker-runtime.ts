import type { Clock, MemoryScope } from "#core";
import type { Deliveries, JobClient } from "#jobs";
import type { Inserter, MemoryServices, QueryRequest, QueryResult, RunContext, WriteQueue } from "#memory";
import type { ApartRuntime } from "./apart/apart-runtime.js";

/** What the processors of a worker work with. */
export interface WorkerRuntime {
  readonly services: MemoryServices;
  /** Writers of one memory take turns. */
  readonly writers: WriteQueue;
  /** So do the batch jobs of one memory: the second finds done what the first did. */
  readonly batches: WriteQueue;
  readonly inserter: Inserter;
  readonly query: (scope: MemoryScope, request: QueryRequest, context: RunContext) => Promise<QueryResult>;
  /** For the jobs that follow from jobs. */
  readonly jobs: JobClient;
  /** To webhooks. */
  readonly deliveries: Pick<Deliveries, "deliver">;
  readonly clock: Clock;
  /** Present where trees and vectors lie apart. */
  readonly apart?: ApartRuntime;
}

/** Injection token of `WorkerRuntime`. */
export const WORKER_RUNTIME = Symbol("WorkerRuntime");
