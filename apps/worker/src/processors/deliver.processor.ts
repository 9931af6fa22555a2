import { Inject, Injectable } from "@nestjs/common";
import type { NamedHandler } from "#jobs";
import { WORKER_RUNTIME, type WorkerRuntime } from "../worker-runtime.js";
import type { Processor } from "./processor.js";

/** Deliveries to webhooks: a job is the turn of one webhook. */
@Injectable()
export class DeliverProcessor implements Processor {
  readonly handlers: readonly NamedHandler[] = [
    {
      name: "deliver",
      handle: (_payload, { tenant, id, signal }) => this.runtime.deliveries.deliver({ tenant, webhook: id }, signal),
    },
  ];

  constructor(@Inject(WORKER_RUNTIME) private readonly runtime: WorkerRuntime) {}
}
