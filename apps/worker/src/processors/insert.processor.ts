import { Inject, Injectable } from "@nestjs/common";
import { held, insertPayload, type JobContext, type NamedHandler } from "#jobs";
import { WORKER_RUNTIME, type WorkerRuntime } from "../worker-runtime.js";
import { readPayload, scopeOf, type Processor } from "./processor.js";

/**
 * Inserts: nodes that are stored and searchable when the job is done. Where trees and vectors lie apart the run ends with the
 * commit, and the job when the vectors of its nodes are stored.
 */
@Injectable()
export class InsertProcessor implements Processor {
  readonly handlers: readonly NamedHandler[] = [
    { name: "insert", handle: (payload, context) => this.#insert(payload, context) },
  ];

  constructor(@Inject(WORKER_RUNTIME) private readonly runtime: WorkerRuntime) {}

  async #insert(payload: unknown, context: JobContext): Promise<unknown> {
    const { inserter, services, apart } = this.runtime;
    const { tenant, memory, signal, progress, stored } = context;
    const result = await inserter.insert(scopeOf(context), readPayload(insertPayload, payload), {
      // The time of the submit: every attempt writes the same.
      ...{ jobId: context.effectId, time: context.createdAt, author: tenant, signal, progress, stored },
    });
    const { structure } = await services.tree.getMemory(scopeOf(context));
    if (structure === "artifact" && result.inserted > 0) {
      // Not needed by the insert's readers: a query computes what is missing. Twice does no harm.
      await this.runtime.jobs.submit({
        ...{ kind: "score", tenant, memory },
        payload: { task: "embed-fields", revision: result.revision },
      });
    }
    // A replay is for what was given up: its nodes are there, and its texts are tried again.
    if (context.effectId !== context.id) await apart?.services.apart.outbox.retry(scopeOf(context));
    apart?.rowsChanged();
    return (await inserter.isComplete(scopeOf(context), context.effectId)) ? result : held(result);
  }
}
