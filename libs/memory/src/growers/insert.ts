/**
 * An insert: checks, plans, builds and commits one change set.
 *
 * 1. The inbox: an insert that this job committed before answers its first result.
 * 2. The request is checked (again: it was checked when the job was made) and planned against the head. A tenant without
 *    room for it is told so before a model works for it, and once more before 5.
 * 3. Texts are embedded through the tenant's cache; this is the long part, and a job killed in it resumes from the cache.
 * 4. If the memory's revision or settings moved meanwhile, back to 2; the vectors are cached now.
 * 5. One commit makes nodes, vectors and terms visible together. A conflict with another process: back to 2.
 *
 * Where trees and vectors lie apart, 3 is left out and the commit writes outbox rows instead of vectors: what was inserted
 * is there, and found by queries, but the insert is complete only when its rows are done.
 */
import { EspalierError, LIMITS, type MemoryScope } from "#core";
import { throwIfAborted } from "#scoring";
import type { Memory } from "../memory.js";
import { stateBytes } from "../model/state-bytes.js";
import type { CommitResult } from "../ports/tree-store.js";
import type { InsertResult } from "../results.js";
import type { MemoryServices, RunContext } from "../services.js";
import { checkQuota, type WantedRoom } from "../tenants/check-quota.js";
import { buildStates, type BuiltStates } from "../writing/build-states.js";
import type { WriteQueue } from "../writing/write-queue.js";
import { checkInsert, type CheckedInsert } from "./check-insert.js";
import type { InsertRequest } from "./insert-request.js";
import type { Plan } from "./plan.js";
import { planMessages } from "./plan-messages.js";
import { planTree } from "./plan-tree.js";

/** The inbox step of an insert: a job makes one. */
const STEP = "insert";

/** Who inserts, and when. */
export interface InsertContext extends RunContext {
  /** TypeID `job_…`: node ids derive from it. */
  readonly jobId: string;
  /** Milliseconds since the epoch: the time of the revision. */
  readonly time: number;
  readonly author: string;
  readonly message?: string;
  /** Hears what is stored when it is, also of an insert that was committed before. */
  readonly stored?: (room: WantedRoom) => void;
}

/** Inserts into memories; one per process, since writers of one memory take turns in its queue. */
export class Inserter {
  constructor(
    private readonly services: MemoryServices,
    private readonly queue: WriteQueue,
  ) {}

  /**
   * Repeats safely under the same job id. `progress` counts nodes.
   * @throws EspalierError what `checkInsert` throws, `quota_exceeded`, `memory_not_found`, `node_not_found`, `too_many_children`,
   * `tree_too_deep`, the model's and the store's, `revision_conflict` after LIMITS.commitAttempts, `cancelled`
   */
  insert(scope: MemoryScope, request: InsertRequest, context: InsertContext): Promise<InsertResult> {
    return this.queue.run(scope, context.signal, async () => {
      const before = await this.services.tree.inbox(scope, context.jobId, STEP);
      if (before !== undefined) {
        context.stored?.(roomTaken(before));
        return resultOf(before);
      }
      const committed = await this.#attempt(scope, request, context);
      context.stored?.(roomTaken(committed));
      const result = resultOf(committed);
      context.progress?.(this.services.apart === undefined ? result.inserted : 0, result.inserted);
      return result;
    });
  }

  /** Whether everything is stored that belongs to a job's insert, its vectors included. One statement where they lie apart. */
  async isComplete({ tenant }: MemoryScope, job: string): Promise<boolean> {
    const unfinished = await this.services.apart?.outbox.unfinished([{ tenant, job }]);
    return unfinished?.has(job) !== true;
  }

  async #attempt(scope: MemoryScope, request: InsertRequest, context: InsertContext): Promise<CommitResult> {
    const { tree } = this.services;
    let memory = await tree.getMemory(scope);
    const checked = checkInsert(request, memory);
    for (let attempt = 1; ; attempt += 1) {
      const plan = await this.#plan(memory, checked, context.jobId);
      const wanted = roomOf(plan);
      await this.#checkQuota(scope.tenant, wanted);
      const built = await buildStates(this.services, memory, plan.nodes, context);
      const now = await tree.getMemory(scope);
      throwIfAborted(context.signal);
      if (attempt === LIMITS.commitAttempts || isUnchanged(memory, now)) {
        await this.#checkQuota(scope.tenant, wanted);
        try {
          return await this.#commit(scope, memory, { plan, built, wanted }, context);
        } catch (error) {
          if (!isConflict(error) || attempt >= LIMITS.commitAttempts) throw error;
        }
      }
      memory = await tree.getMemory(scope);
    }
  }

  async #checkQuota(tenant: string, wanted: WantedRoom): Promise<void> {
    const { tree, limits } = this.services;
    if (limits !== undefined) await checkQuota({ tree, limits }, tenant, wanted);
  }

  #plan(memory: Memory, checked: CheckedInsert, jobId: string): Promise<Plan> {
    return checked.kind === "tree"
      ? planTree(this.services.tree, memory, checked, jobId)
      : planMessages(this.services.tree, memory, checked, jobId);
  }

  #commit(
    scope: MemoryScope,
    memory: Memory,
    { plan, built, wanted }: { readonly plan: Plan; readonly built: BuiltStates; readonly wanted: WantedRoom },
    context: InsertContext,
  ): Promise<CommitResult> {
    const { jobId, time, author, message = "insert" } = context;
    return this.services.tree.commit(scope, {
      ...built,
      baseRevision: memory.revision,
      inbox: { job: jobId, step: STEP },
      message,
      author,
      time,
      ends: [],
      result: { inserted: wanted.nodes, bytes: wanted.bytes, roots: plan.roots },
    });
  }
}

function roomOf({ nodes }: Plan): WantedRoom {
  return { nodes: nodes.length, bytes: nodes.reduce((sum, node) => sum + stateBytes(node), 0) };
}

/** Whether what was planned and built still holds. */
function isUnchanged(planned: Memory, now: Memory): boolean {
  return (
    planned.revision === now.revision &&
    planned.structure === now.structure &&
    planned.embeddingModel === now.embeddingModel &&
    JSON.stringify(planned.templates) === JSON.stringify(now.templates)
  );
}

function isConflict(error: unknown): boolean {
  return error instanceof EspalierError && error.code === "revision_conflict";
}

function roomTaken({ result }: CommitResult): WantedRoom {
  // Inserts of earlier releases did not keep their bytes.
  const { inserted, bytes = 0 } = result as { readonly inserted: number; readonly bytes?: number };
  return { nodes: inserted, bytes };
}

function resultOf({ revision, result }: CommitResult): InsertResult {
  const { inserted, roots } = result as Pick<InsertResult, "inserted" | "roots">;
  return { revision, inserted, roots };
}
