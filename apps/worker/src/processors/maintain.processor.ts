import { Inject, Injectable } from "@nestjs/common";
import { maintainPayload, type JobContext, type NamedHandler } from "#jobs";
import { reconcile, reembed, retext, type ReconcileResult, type ReembedResult, type RetextResult } from "#memory";
import { WORKER_RUNTIME, type WorkerRuntime } from "../worker-runtime.js";
import { readPayload, scopeOf, type Processor } from "./processor.js";

/** Work on whole memories: after a change of their settings, or where their stores were found to differ. */
@Injectable()
export class MaintainProcessor implements Processor {
  readonly handlers: readonly NamedHandler[] = [
    { name: "retext", handle: (payload, context) => this.#retext(payload, context) },
    { name: "reembed", handle: (payload, context) => this.#reembed(payload, context) },
    { name: "reconcile", handle: (payload, context) => this.#reconcile(payload, context) },
  ];

  constructor(@Inject(WORKER_RUNTIME) private readonly runtime: WorkerRuntime) {}

  #retext(payload: unknown, context: JobContext): Promise<RetextResult> {
    readPayload(maintainPayload, payload);
    const { services, writers } = this.runtime;
    const { signal, progress } = context;
    const by = { jobId: context.effectId, time: context.createdAt, author: context.tenant };
    return retext(services, writers, scopeOf(context), { ...by, signal, progress });
  }

  #reembed(payload: unknown, context: JobContext): Promise<ReembedResult> {
    readPayload(maintainPayload, payload);
    const { services, writers } = this.runtime;
    const { signal, progress } = context;
    return reembed(services, writers, scopeOf(context), { signal, progress });
  }

  async #reconcile(payload: unknown, context: JobContext): Promise<ReconcileResult> {
    readPayload(maintainPayload, payload);
    const { apart } = this.runtime;
    // One transaction writes trees and vectors: they cannot differ.
    if (apart === undefined) return { missing: 0, foreign: 0, stale: 0, repaired: 0, failed: 0 };
    const scope = scopeOf(context);
    const result = await reconcile(apart.services, scope, { signal: context.signal });
    // What differed is as it should be, or has a row; but nobody works on one that was given up.
    await apart.background.sweeps.note(scope, result.failed);
    apart.rowsChanged();
    return result;
  }
}
