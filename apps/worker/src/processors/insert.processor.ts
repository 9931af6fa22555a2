import { Inject, Injectable } from "@nestjs/common";
import { insertPayload, type JobContext, type NamedHandler } from "#jobs";
import type { InsertResult } from "#memory";
import { WORKER_RUNTIME, type WorkerRuntime } from "../worker-runtime.js";
import { readPayload, scopeOf, type Processor } from "./processor.js";

/** Inserts: nodes that are stored and searchable when the job is done. */
@Injectable()
export class InsertProcessor implements Processor {
  readonly handlers: readonly NamedHandler[] = [
    { name: "insert", handle: (payload, context) => this.#insert(payload, context) },
  ];

  constructor(@Inject(WORKER_RUNTIME) private readonly runtime: WorkerRuntime) {}

  async #insert(payload: unknown, context: JobContext): Promise<InsertResult> {
    const { inserter, services } = this.runtime;
    const { tenant, memory, signal, progress } = context;
    const result = await inserter.insert(scopeOf(context), readPayload(insertPayload, payload), {
      // The time of the submit: every attempt writes the same.
      ...{ jobId: context.id, time: context.createdAt, author: tenant, signal, progress },
    });
    const { structure } = await services.tree.getMemory(scopeOf(context));
    if (structure === "artifact" && result.inserted > 0) {
      // Not needed by the insert's readers: a query computes what is missing. Twice does no harm.
      await this.runtime.jobs.submit({
        ...{ kind: "score", tenant, memory },
        payload: { task: "embed-fields", revision: result.revision },
      });
    }
    return result;
  }
}
