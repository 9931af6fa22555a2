import { Inject, Injectable } from "@nestjs/common";
import { LIMITS } from "#core";
import type { JobClient, JobRecord, SubmitRequest } from "#jobs";
import { API_DEPENDENCIES, type ApiDependencies } from "../dependencies.js";
import { Places } from "./places.js";

/** Hands work to the workers and waits for it as long as the request asked, or until the process stops. */
@Injectable()
export class Submitter {
  readonly #jobs: JobClient;
  readonly #stopping: AbortSignal;
  readonly #waits = new Places(LIMITS.waitingRequests, "too_many_waits");

  constructor(@Inject(API_DEPENDENCIES) dependencies: ApiDependencies) {
    this.#jobs = dependencies.jobs;
    this.#stopping = dependencies.stopping;
  }

  /** @throws EspalierError `queue_unavailable`, `idempotency_conflict`, `too_many_waits` (then there is no job) */
  async submit(request: SubmitRequest, waitMs: number): Promise<JobRecord> {
    if (waitMs === 0) return this.#jobs.submit(request);
    const leave = this.#waits.take(request.tenant);
    try {
      return await this.#jobs.submitAndWait(request, waitMs, this.#stopping);
    } finally {
      leave();
    }
  }
}
