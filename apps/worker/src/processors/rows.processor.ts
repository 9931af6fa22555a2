import { Inject, Injectable } from "@nestjs/common";
import { EspalierError } from "#core";
import { embedRowsPayload, type JobContext, type NamedHandler } from "#jobs";
import { completeJobs, embedRows, followJobs, type EmbedRowsResult } from "#memory";
import { WORKER_RUNTIME, type WorkerRuntime } from "../worker-runtime.js";
import { readPayload, type Processor } from "./processor.js";

/** The rows of the outbox, claim by claim. */
@Injectable()
export class RowsProcessor implements Processor {
  readonly handlers: readonly NamedHandler[] = [
    { name: "embed-rows", handle: (payload, context) => this.#embedRows(payload, context) },
  ];

  constructor(@Inject(WORKER_RUNTIME) private readonly runtime: WorkerRuntime) {}

  /** A claim of rows, of any tenants. Under back-pressure the slot is kept for a pause. */
  async #embedRows(payload: unknown, { signal, takenOver }: JobContext): Promise<EmbedRowsResult> {
    const { claim } = readPayload(embedRowsPayload, payload);
    const { apart } = this.runtime;
    if (apart === undefined) throw new EspalierError("unknown_job_kind", "The stores of this worker have no outbox.");
    const { services, background, pressure } = apart;
    const result = await embedRows(services, claim, { signal, takenOver });
    const told = result.failed > 0 ? followJobs : completeJobs;
    await told(services.apart.outbox, background.held, result.jobs);
    if (result.pressure === undefined) pressure.relieve();
    else await pressure.pause(signal);
    apart.rowsChanged();
    return result;
  }
}
