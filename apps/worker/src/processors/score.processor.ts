import { Inject, Injectable } from "@nestjs/common";
import { scorePayload, type JobContext, type NamedHandler } from "#jobs";
import { embedFields, type EmbedFieldsResult } from "#memory";
import { WORKER_RUNTIME, type WorkerRuntime } from "../worker-runtime.js";
import { readPayload, scopeOf, type Processor } from "./processor.js";

/** The batch lane: model work that nobody waits for. */
@Injectable()
export class ScoreProcessor implements Processor {
  readonly handlers: readonly NamedHandler[] = [
    { name: "embed-fields", handle: (payload, context) => this.#embedFields(payload, context) },
  ];

  constructor(@Inject(WORKER_RUNTIME) private readonly runtime: WorkerRuntime) {}

  #embedFields(payload: unknown, context: JobContext): Promise<EmbedFieldsResult> {
    readPayload(scorePayload, payload);
    const { services, batches } = this.runtime;
    const { signal, progress } = context;
    const scope = scopeOf(context);
    return batches.run(scope, signal, () => embedFields(services, scope, { signal, progress }));
  }
}
