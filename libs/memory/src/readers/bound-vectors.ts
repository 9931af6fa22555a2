import type { NodeFilter } from "#core";
import type { Embedding, HybridCondition, StateRef, VectorScores } from "#scoring";
import type { VectorPoint, VectorRead, VectorStore } from "../ports/vector-store.js";
import type { Snapshot } from "./snapshot.js";
import type { Views } from "./views.js";

/** Every node of a memory. */
const EVERYTHING: NodeFilter = { scope: { kind: "descendants", of: [""] } };

/** The vectors of one memory at the revision of a query, under the model that the query reads. */
export class BoundVectors implements VectorScores {
  constructor(
    private readonly store: VectorStore,
    private readonly snapshot: Snapshot,
    private readonly views: Views,
  ) {}

  scores(field: string, vector: Float32Array, states: readonly StateRef[]): Promise<Float64Array> {
    return this.store.scores(this.snapshot.scope, this.#read(field), vector, states);
  }

  topK(
    field: string,
    vector: Float32Array,
    filter: NodeFilter,
    options: { readonly limit: number; readonly exact: boolean },
  ): ReturnType<VectorScores["topK"]> {
    return this.store.topK(this.snapshot.scope, this.#read(field), vector, filter, options);
  }

  async hybridTopK(
    field: string,
    condition: HybridCondition,
    filter: NodeFilter,
    options: { readonly limit: number; readonly exact: boolean },
  ): ReturnType<NonNullable<VectorScores["hybridTopK"]>> {
    return this.store.hybridTopK?.(this.snapshot.scope, this.#read(field), condition, filter, options);
  }

  /** Once a field is known to be complete at a revision, no later query of that revision asks the store again. */
  async missing(
    field: string,
    of: { readonly filter: NodeFilter } | { readonly states: readonly StateRef[] },
    limit: number,
  ): Promise<readonly (StateRef & { readonly text: string })[]> {
    const { scope } = this.snapshot;
    if (!("filter" in of)) return this.store.missing(scope, this.#read(field), of, limit);
    const view = this.views.of(this.snapshot);
    if (view.isComplete(field)) return [];
    const anywhere = await this.store.missing(scope, this.#read(field), { filter: EVERYTHING }, 1);
    if (anywhere.length === 0) {
      view.complete(field);
      return [];
    }
    return this.store.missing(scope, this.#read(field), of, limit);
  }

  keep(field: string, vectors: readonly (StateRef & { readonly embedding: Embedding })[]): Promise<void> {
    const { scope, memory } = this.snapshot;
    const points: VectorPoint[] = vectors.map((vector) => ({ ...vector, field, model: memory.embeddingModel }));
    return this.store.upsert(scope, points);
  }

  #read(field: string): VectorRead {
    const { revision, memory } = this.snapshot;
    return { revision, model: memory.embeddingModel, field, view: this.views.of(this.snapshot) };
  }
}
