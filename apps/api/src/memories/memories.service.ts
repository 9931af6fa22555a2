import { Inject, Injectable } from "@nestjs/common";
import { EspalierError, idFromUuid } from "#core";
import type { JobRecord, MaintainPayload } from "#jobs";
import { checkMemoryQuota, type DeletionCounts, type Memory, type MemoryPatch } from "#memory";
import { API_DEPENDENCIES, type ApiDependencies } from "../dependencies.js";
import { reaches, type Caller } from "../http/caller.js";
import { readPage, type Page } from "../http/cursor.js";
import type { MemoryPatchBody, NewMemoryBody } from "../wire/memory.js";
import { DEFAULT_SCORING } from "./default-scoring.js";

export interface MemoryListQuery {
  readonly limit: number;
  readonly cursor?: string | undefined;
  readonly name?: string | undefined;
  readonly labels: Readonly<Record<string, string>>;
}

/** Jobs of one memory that a deletion cancels at most: they would find the memory gone anyway. */
const CANCELLED_JOBS = 1_000;

/** Memories of a tenant: their settings, not their nodes. */
@Injectable()
export class MemoriesService {
  constructor(@Inject(API_DEPENDENCIES) private readonly dependencies: ApiDependencies) {}

  /**
   * `effect`: the UUID under which a repeated request makes it, once.
   * @throws EspalierError `forbidden` for a key that could not see what it made, `model_unknown`, `quota_exceeded`
   */
  async create(caller: Caller, body: NewMemoryBody, effect?: string): Promise<Memory> {
    const { tree, ids, clock } = this.dependencies;
    const id = effect === undefined ? ids("mem") : idFromUuid("mem", effect);
    if (!reaches(caller, id)) {
      throw new EspalierError("forbidden", "The API key is bound to a memory prefix and cannot create memories.");
    }
    const made = effect === undefined ? undefined : await this.#find(caller, id);
    if (made !== undefined) return made;
    const embeddingModel = await this.#model(body.embeddingModel);
    await checkMemoryQuota(this.dependencies, caller.tenant);
    return tree.createMemory(caller.tenant, {
      id,
      name: body.name,
      labels: body.labels ?? {},
      structure: body.structure ?? "artifact",
      templates: body.templates ?? {},
      scoring: { ...DEFAULT_SCORING, ...body.scoring } as Memory["scoring"],
      embeddingModel,
      createdAt: clock.now(),
    });
  }

  /** What an earlier request of the same effect made, before its process died. */
  async #find({ tenant }: Caller, memory: string): Promise<Memory | undefined> {
    try {
      return await this.dependencies.tree.getMemory({ tenant, memory });
    } catch (error) {
      if (error instanceof EspalierError && error.code === "memory_not_found") return undefined;
      throw error;
    }
  }

  list(caller: Caller, query: MemoryListQuery): Promise<Page<Memory>> {
    return readPage(
      query,
      (page) =>
        this.dependencies.tree.listMemories(caller.tenant, {
          ...page,
          labels: query.labels,
          ...(query.name !== undefined && { name: query.name }),
        }),
      (memory) => reaches(caller, memory.id),
    );
  }

  /**
   * Changes settings. New templates, or another embedding model, start a maintain job each (the answer names the last); if
   * one cannot be queued, the settings are as they were.
   */
  async patch(memory: Memory, body: MemoryPatchBody): Promise<{ readonly memory: Memory; readonly job?: JobRecord }> {
    const scope = { tenant: memory.tenant, memory: memory.id };
    const { tree, clock } = this.dependencies;
    const patch = await this.#patchOf(memory, body);
    const tasks = tasksOf(memory, patch);
    if (tasks.length > 0) await this.dependencies.jobs.ping();
    const updated = await tree.updateMemory(scope, patch, clock.now());
    let job: JobRecord | undefined;
    try {
      for (const task of tasks) {
        const payload: MaintainPayload = { task };
        job = await this.dependencies.jobs.submit({ kind: "maintain", ...scope, payload });
      }
      return { memory: updated, ...(job !== undefined && { job }) };
    } catch (error) {
      await tree.updateMemory(scope, undo(memory), clock.now());
      throw error;
    }
  }

  /** Every row of the memory; jobs that have not ended are cancelled first, so that they stop soon. */
  async delete(memory: Memory): Promise<DeletionCounts & { readonly jobs: number }> {
    const jobs = await this.#cancelJobs(memory);
    const counts = await this.dependencies.tree.deleteMemory({ tenant: memory.tenant, memory: memory.id });
    await this.dependencies.jobs.forgetContents(memory.tenant, memory.id);
    return { ...counts, jobs };
  }

  async #cancelJobs(memory: Memory): Promise<number> {
    const { jobs } = this.dependencies;
    // Both states in one reading: a job that goes from one to the other between two would be missed.
    const unended = await jobs.list(memory.tenant, {
      ...{ memory: memory.id, states: ["queued", "active"], limit: CANCELLED_JOBS },
    });
    let cancelled = 0;
    for (const job of unended) {
      try {
        await jobs.cancel(memory.tenant, job.id);
        cancelled += 1;
      } catch (error) {
        const ended = error instanceof EspalierError && ["job_finished", "job_not_found"].includes(error.code);
        if (!ended) throw error;
        if (await this.#endHeld(memory, job)) cancelled += 1;
      }
    }
    return cancelled;
  }

  /** A job that only waits for vectors cannot be cancelled, but it would wait for ever. False if it has ended. */
  async #endHeld({ tenant }: Memory, { id }: JobRecord): Promise<boolean> {
    const error = { code: "cancelled", message: "The memory was deleted.", details: {} } as const;
    const { apart } = this.dependencies;
    return (await apart?.background.held.release({ tenant, job: id }, { state: "cancelled", error })) ?? false;
  }

  async #patchOf(memory: Memory, body: MemoryPatchBody): Promise<MemoryPatch> {
    if (body.structure !== undefined && body.structure !== memory.structure && memory.nodes > 0) {
      throw new EspalierError("invalid_structure", "The structure of a memory that has nodes cannot change.");
    }
    return {
      ...(body.name !== undefined && { name: body.name }),
      ...(body.labels !== undefined && { labels: body.labels }),
      ...(body.structure !== undefined && { structure: body.structure }),
      ...(body.templates !== undefined && { templates: body.templates }),
      ...(body.scoring !== undefined && { scoring: { ...memory.scoring, ...body.scoring } as Memory["scoring"] }),
      ...(await this.#modelPatch(memory, body.embeddingModel)),
    };
  }

  /** A job moves the memory to another model; naming the present one ends a move. */
  async #modelPatch(memory: Memory, wanted: string | undefined): Promise<MemoryPatch> {
    if (wanted === undefined) return {};
    // Also a model that may not be named any more: the memory has it.
    const model = wanted === memory.embeddingModel ? wanted : await this.#model(wanted);
    if (model === memory.embeddingModel) {
      return memory.nextEmbeddingModel === undefined ? {} : { nextEmbeddingModel: null };
    }
    return { nextEmbeddingModel: model };
  }

  /** @throws EspalierError `model_unknown` */
  async #model(wanted: string | undefined): Promise<string> {
    const { embeddingModels } = this.dependencies;
    if (wanted === undefined) return embeddingModels.default;
    try {
      return await embeddingModels.identify(wanted);
    } catch (error) {
      throw error instanceof EspalierError && error.code === "model_unknown" ? located(error) : error;
    }
  }
}

/** The error with the place in the body that it is about, as those of wrong bodies have it. */
function located({ code, message, details }: EspalierError): EspalierError {
  const errors = [{ path: "embeddingModel", message }];
  return new EspalierError(code, `body embeddingModel: ${message}`, { details: { ...details, errors } });
}

function sameTexts(left: Readonly<Record<string, string>>, right: Readonly<Record<string, string>>): boolean {
  const names = Object.keys(left);
  return names.length === Object.keys(right).length && names.every((name) => left[name] === right[name]);
}

/** The work that a change of settings asks for, in the order in which it is queued. */
function tasksOf(memory: Memory, patch: MemoryPatch): readonly MaintainPayload["task"][] {
  const retexts = patch.templates !== undefined && !sameTexts(patch.templates, memory.templates);
  const moves = typeof patch.nextEmbeddingModel === "string";
  return [...(retexts ? (["retext"] as const) : []), ...(moves ? (["reembed"] as const) : [])];
}

/** The patch that puts a memory's settings back. */
function undo(memory: Memory): MemoryPatch {
  return {
    name: memory.name,
    labels: memory.labels,
    structure: memory.structure,
    templates: memory.templates,
    scoring: memory.scoring,
    nextEmbeddingModel: memory.nextEmbeddingModel ?? null,
  };
}
