/**
 * Moves a memory to the model that its `nextEmbeddingModel` names, without inserting anything again. Reads stay on the old
 * model until every live text has a vector of the new one:
 *
 * 1. Fill the vectors of the new model for what is live, page by page. Inserts go on meanwhile, with the old model.
 * 2. As the next writer in the queue: fill what came since, then switch the memory's model. From then on reads and inserts
 *    are on the new one; `nextEmbeddingModel` stays, and says that the move is not over.
 * 3. Fill once more, for what other processes committed in between, delete the old model's vectors, and take the goal away.
 *
 * Every step finds its own place again, so a killed run is simply repeated; one that nobody repeats is finished by the
 * comparison of the stores (`isMoveCutShort`). Should something slip through, a query computes the vectors that it misses.
 */
import type { MemoryScope } from "#core";
import type { Memory } from "../memory.js";
import { NODE_FIELD } from "#core";
import type { MemoryServices, RunContext } from "../services.js";
import type { WriteQueue } from "../writing/write-queue.js";
import { declaredFields } from "./declared-fields.js";
import { fillVectors } from "./fill-vectors.js";

/** What a move did. */
export interface ReembedResult {
  /** The model that the memory is on now. */
  readonly model: string;
  /** Vectors computed for it. */
  readonly embedded: number;
  /** Vectors of the model before that were removed. */
  readonly deleted: number;
}

/**
 * Cost: the new model's, for all texts that its cache does not know. `progress` counts texts.
 * @throws EspalierError `memory_not_found`, `model_unknown`, the model's and the store's, `cancelled`
 */
export async function reembed(
  services: MemoryServices,
  queue: WriteQueue,
  scope: MemoryScope,
  context: RunContext = {},
): Promise<ReembedResult> {
  const before = await services.tree.getMemory(scope);
  const next = before.nextEmbeddingModel;
  if (next === undefined) return { model: before.embeddingModel, embedded: 0, deleted: 0 };
  const pass = new Pass(services, next, context);
  if (!isMoveCutShort(before)) {
    await pass.fill(before);
    const switched = await queue.run(scope, context.signal, () => switchModel(services, scope, pass));
    if (!switched) {
      // Another goal was set meanwhile: what was computed for this one is of no use.
      const deleted = await services.vectors.deleteFormer(scope);
      return { model: before.embeddingModel, embedded: pass.embedded, deleted };
    }
  }
  await pass.fill(await services.tree.getMemory(scope));
  const deleted = await finishMove(services, scope);
  return { model: next, embedded: pass.embedded, deleted };
}

/** Whether a memory is on the model that it was to move to, and the vectors of the one before may still be there. */
export function isMoveCutShort({ embeddingModel, nextEmbeddingModel }: Memory): boolean {
  return nextEmbeddingModel === embeddingModel;
}

/** Ends the move of a memory that has switched: removes vectors of the models before, then the goal. Answers their count. */
export async function finishMove(services: MemoryServices, scope: MemoryScope): Promise<number> {
  const deleted = await services.vectors.deleteFormer(scope);
  const memory = await services.tree.getMemory(scope);
  if (isMoveCutShort(memory)) {
    await services.tree.updateMemory(scope, { nextEmbeddingModel: null }, services.clock.now());
  }
  return deleted;
}

/** False if the memory has another goal by now. */
async function switchModel(services: MemoryServices, scope: MemoryScope, pass: Pass): Promise<boolean> {
  const current = await services.tree.getMemory(scope);
  if (current.nextEmbeddingModel !== pass.model) return false;
  await pass.fill(current);
  await services.tree.updateMemory(scope, { embeddingModel: pass.model }, services.clock.now());
  return true;
}

/** Fills node texts, and the attribute fields that the memory declares. */
class Pass {
  embedded = 0;

  constructor(
    private readonly services: MemoryServices,
    readonly model: string,
    private readonly context: RunContext,
  ) {}

  async fill(memory: Memory): Promise<void> {
    const schema = await this.services.tree.schema({ tenant: memory.tenant, memory: memory.id });
    const declared = declaredFields(memory, schema);
    const total = declared.reduce((sum, { count }) => sum + count, memory.nodes);
    for (const field of [NODE_FIELD, ...declared.map((one) => one.field)]) {
      await fillVectors(this.services, { memory, model: this.model, field }, this.context, (stored) => {
        this.embedded += stored;
        this.context.progress?.(Math.min(this.embedded, total), total);
      });
    }
  }
}
