/**
 * Recomputes the texts of a memory after its templates changed: the memory is walked in document order in bounded pages,
 * and each page with a changed text is one change set that ends the old states and adds new ones with text, tokens, vector
 * and terms. Writers of the memory have their turn between pages. A page that is up to date makes no change set, so a
 * killed run, or a second one, goes on where the texts still differ.
 */
import { EspalierError, LIMITS, type MemoryScope, type NodeState } from "#core";
import type { Memory } from "../memory.js";
import { nodeText, templatesOf } from "../model/node-text.js";
import type { MemoryServices, RunContext } from "../services.js";
import { buildStates } from "../writing/build-states.js";
import { newState } from "../writing/new-state.js";
import type { WriteQueue } from "../writing/write-queue.js";
import { embedFields } from "./embed-fields.js";

/** Who changes the texts, and when. */
export interface RetextContext extends RunContext {
  /** TypeID `job_…`. */
  readonly jobId: string;
  /** Milliseconds since the epoch. */
  readonly time: number;
  readonly author: string;
}

/** What a run changed. */
export interface RetextResult {
  readonly revision: number;
  /** Nodes whose text changed. */
  readonly changed: number;
}

/**
 * `progress` counts nodes. Repeats safely.
 * @throws EspalierError `memory_not_found`, `revision_conflict` after LIMITS.commitAttempts on one page, the model's and
 * the store's, `cancelled`
 */
export async function retext(
  services: MemoryServices,
  queue: WriteQueue,
  scope: MemoryScope,
  context: RetextContext,
): Promise<RetextResult> {
  let after: string | undefined;
  let walked = 0;
  let changed = 0;
  do {
    const page = await queue.run(scope, context.signal, () => retextPage(services, scope, after, context));
    walked += page.walked;
    changed += page.changed;
    after = page.next;
    context.progress?.(walked, Math.max(walked, page.nodes));
  } while (after !== undefined);
  const silent = { signal: context.signal };
  // New states have no vectors of attribute fields yet; the cache has them.
  if (changed > 0) await embedFields(services, scope, silent);
  const { revision } = await services.tree.getMemory(scope);
  return { revision, changed };
}

interface Page {
  readonly walked: number;
  readonly changed: number;
  /** Live nodes of the memory. */
  readonly nodes: number;
  readonly next: string | undefined;
}

async function retextPage(
  services: MemoryServices,
  scope: MemoryScope,
  after: string | undefined,
  context: RetextContext,
): Promise<Page> {
  const limit = LIMITS.maintenancePageNodes;
  for (let attempt = 1; ; attempt += 1) {
    const memory = await services.tree.getMemory(scope);
    const states = await services.tree.scan(scope, { limit, ...(after !== undefined && { after }) });
    const templates = templatesOf(memory);
    const stale = states.filter((state) => nodeText(state, templates) !== state.text);
    try {
      if (stale.length > 0) await replace(services, memory, stale, context);
      const next = states.length < limit ? undefined : states.at(-1)?.pathKey;
      return { walked: states.length, changed: stale.length, nodes: memory.nodes, next };
    } catch (error) {
      const moved = error instanceof EspalierError && error.code === "revision_conflict";
      if (!moved || attempt >= LIMITS.commitAttempts) throw error;
    }
  }
}

async function replace(
  services: MemoryServices,
  memory: Memory,
  stale: readonly NodeState[],
  { jobId, time, author, signal }: RetextContext,
): Promise<void> {
  const built = await buildStates(services, memory, stale.map(newState), { signal });
  await services.tree.commit(
    { tenant: memory.tenant, memory: memory.id },
    {
      ...built,
      baseRevision: memory.revision,
      // A job makes at most one change set on a revision, so the step names this page's.
      inbox: { job: jobId, step: `retext:${memory.revision}` },
      message: "recompute texts",
      author,
      time,
      ends: stale.map(({ id }) => id),
      result: { changed: stale.length },
    },
  );
}
