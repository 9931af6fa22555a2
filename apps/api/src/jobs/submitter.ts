import { Inject, Injectable } from "@nestjs/common";
import type { JobClient, JobRecord, SubmitRequest } from "#jobs";
import { API_DEPENDENCIES, type ApiDependencies } from "../dependencies.js";

/** Hands work to the workers and waits for it as long as the request asked, or until the process stops. */
@Injectable()
export class Submitter {
  readonly #jobs: JobClient;
  readonly #stopping: AbortSignal;

  constructor(@Inject(API_DEPENDENCIES) dependencies: ApiDependencies) {
    this.#jobs = dependencies.jobs;
    this.#stopping = dependencies.stopping;
  }

  /** @throws EspalierError `queue_unavailable`, `idempotency_conflict` */
  submit(request: SubmitRequest, waitMs: number): Promise<JobRecord> {
    return waitMs === 0 ? this.#jobs.submit(request) : this.#jobs.submitAndWait(request, waitMs, this.#stopping);
  }
}
