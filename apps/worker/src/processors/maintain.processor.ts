import { Inject, Injectable } from "@nestjs/common";
import { maintainPayload, type JobContext, type NamedHandler } from "#jobs";
import { reembed, retext, type ReembedResult, type RetextResult } from "#memory";
import { WORKER_RUNTIME, type WorkerRuntime } from "../worker-runtime.js";
import { readPayload, scopeOf, type Processor } from "./processor.js";

/** Work on whole memories after a change of their settings. */
@Injectable()
export class MaintainProcessor implements Processor {
  readonly handlers: readonly NamedHandler[] = [
    { name: "retext", handle: (payload, context) => this.#retext(payload, context) },
    { name: "reembed", handle: (payload, context) => this.#reembed(payload, context) },
  ];

  constructor(@Inject(WORKER_RUNTIME) private readonly runtime: WorkerRuntime) {}

  #retext(payload: unknown, context: JobContext): Promise<RetextResult> {
    readPayload(maintainPayload, payload);
    const { services, writers } = this.runtime;
    const { signal, progress } = context;
    const by = { jobId: context.id, time: context.createdAt, author: context.tenant };
    return retext(services, writers, scopeOf(context), { ...by, signal, progress });
  }

  #reembed(payload: unknown, context: JobContext): Promise<ReembedResult> {
    readPayload(maintainPayload, payload);
    const { services, writers } = this.runtime;
    const { signal, progress } = context;
    return reembed(services, writers, scopeOf(context), { signal, progress });
  }
}
