import { Inject, Injectable } from "@nestjs/common";
import { queryPayload, type JobContext, type NamedHandler } from "#jobs";
import type { QueryResult } from "#memory";
import { WORKER_RUNTIME, type WorkerRuntime } from "../worker-runtime.js";
import { readPayload, scopeOf, type Processor } from "./processor.js";

/** The result of a query as it goes over the wire. */
export interface QueryJobResult extends QueryResult {
  /** Its own id. */
  readonly job: string;
  /** Milliseconds until a worker took the job, and until it was done with it. */
  readonly timings: { readonly queuedMs: number; readonly runMs: number };
}

/** Queries: reads of a memory. */
@Injectable()
export class QueryProcessor implements Processor {
  readonly handlers: readonly NamedHandler[] = [
    { name: "query", handle: (payload, context) => this.#query(payload, context) },
  ];

  constructor(@Inject(WORKER_RUNTIME) private readonly runtime: WorkerRuntime) {}

  async #query(payload: unknown, context: JobContext): Promise<QueryJobResult> {
    const queuedMs = Math.max(0, this.runtime.clock.now() - context.createdAt);
    const begun = performance.now();
    const { signal, progress } = context;
    const result = await this.runtime.query(scopeOf(context), readPayload(queryPayload, payload), { signal, progress });
    const runMs = Math.round((performance.now() - begun) * 100) / 100;
    return { job: context.id, ...result, timings: { queuedMs, runMs } };
  }
}
