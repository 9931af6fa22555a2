import { Inject, Injectable } from "@nestjs/common";
import type { z } from "zod";
import { EspalierError, isId } from "#core";
import type { DeadLetterFilter, JobClient, JobRecord } from "#jobs";
import { API_DEPENDENCIES, type ApiDependencies } from "../dependencies.js";
import { reaches, type Caller } from "../http/caller.js";
import { readPage, type Page } from "../http/cursor.js";
import type { deadLetterListQuery, jobListQuery, replayBody } from "../wire/job.js";

/** Jobs as one caller may see them. */
@Injectable()
export class JobsService {
  readonly #jobs: JobClient;

  constructor(@Inject(API_DEPENDENCIES) dependencies: ApiDependencies) {
    this.#jobs = dependencies.jobs;
  }

  list(caller: Caller, query: z.output<typeof jobListQuery>): Promise<Page<JobRecord>> {
    const { memory, state, kind, createdFrom, createdBefore } = query;
    return readPage(
      query,
      (page) =>
        this.#jobs.list(caller.tenant, {
          ...page,
          ...(memory !== undefined && { memory }),
          ...(state !== undefined && { states: [state] }),
          ...(kind !== undefined && { kind }),
          ...(createdFrom !== undefined && { createdFrom: Date.parse(createdFrom) }),
          ...(createdBefore !== undefined && { createdBefore: Date.parse(createdBefore) }),
        }),
      (job) => reaches(caller, job.memory),
    );
  }

  /** @throws EspalierError `job_not_found`, also for jobs of other tenants and of memories that the key does not reach */
  async get(caller: Caller, id: string): Promise<JobRecord> {
    if (!isId("job", id)) throw new EspalierError("job_not_found", "There is no such job.");
    const record = await this.#jobs.get(caller.tenant, id);
    if (!reaches(caller, record.memory)) throw new EspalierError("job_not_found", "There is no such job.");
    return record;
  }

  /** @throws EspalierError `job_not_found`, `job_not_failed`, `queue_full` */
  async replay(caller: Caller, id: string): Promise<JobRecord> {
    await this.get(caller, id);
    return this.#jobs.replay(caller.tenant, id);
  }

  deadLetters(caller: Caller, query: z.output<typeof deadLetterListQuery>): Promise<Page<JobRecord>> {
    return readPage(
      query,
      (page) => this.#jobs.deadLetters(caller.tenant, { ...page, ...filterOf(query) }),
      (job) => reaches(caller, job.memory),
    );
  }

  /** One after the other: the first that is refused ends it, and what was replayed before stays replayed. */
  async replayAll(caller: Caller, { limit, ...filter }: z.output<typeof replayBody>): Promise<readonly JobRecord[]> {
    const { items } = await this.deadLetters(caller, { limit, ...filter });
    const replayed: JobRecord[] = [];
    for (const letter of items) replayed.push(await this.#jobs.replay(caller.tenant, letter.id));
    return replayed;
  }

  /** @throws EspalierError `job_not_found`, `job_finished` */
  async cancel(caller: Caller, id: string): Promise<JobRecord> {
    await this.get(caller, id);
    return this.#jobs.cancel(caller.tenant, id);
  }
}

function filterOf({ memory, kind }: z.output<typeof deadLetterListQuery>): DeadLetterFilter {
  return { ...(memory !== undefined && { memory }), ...(kind !== undefined && { kind }) };
}
