import type { MemoryScope, NodeFilter, NodeKey } from "#core";
import type { StoredPoint } from "#memory";
import type { LexicalStatistics, StateRef } from "#scoring";

/** What a point is made of beside its vector. */
export interface PointSource extends NodeKey {
  readonly field: string;
  /** The text of the field; never empty. */
  readonly text: string;
  /** Revision that ended the state; absent: it is live. */
  readonly died?: number;
}

/** A page of points that wait for their vectors, in document order. */
export interface PendingPage {
  readonly points: readonly PointSource[];
  /** Where the next page begins; absent: there is none. */
  readonly next?: string;
}

/** How the points of a field stand to their states. */
export interface Standing {
  /** The model that was named, or the one that the memory's queries read. */
  readonly model: string;
  /** Live nodes of the memory. */
  readonly nodes: number;
  /** Whether there may be points that wait for their vectors: there is a row, or the field is not tracked yet. */
  readonly waits: boolean;
  /** Points whose `payload` row waits, whatever the revision: their states have ended. */
  readonly ended: readonly StoredPoint[];
}

/** What became of points that were stored: `gone` is their memory, `left` by it their model. Both times they have to go. */
export type Settlement = "settled" | "gone" | "left";

/**
 * What a vector store that lies apart needs of the trees: it asks here what its points are made of and which of them are
 * behind, and tells which it has stored. Another tenant's memory does not exist (`memory_not_found`). A memory's points are of
 * the model that its queries read, and of the one that it is moving to; under another it has left (`revision_conflict`).
 */
export interface PointLedger {
  /** The model that the memory's queries read, the one that it is moving to, and its head. */
  memory(scope: MemoryScope): Promise<{ readonly model: string; readonly next?: string; readonly revision: number }>;
  /** What the points of named states are made of; unknown states and those without a text in the field are left out. One statement. */
  sources(
    scope: MemoryScope,
    refs: readonly (StateRef & { readonly field: string })[],
  ): Promise<readonly PointSource[]>;
  /**
   * A page of the states that are live at the revision and whose point of that model and field waits for its vector, of the
   * filter if there is one. The first page tracks a field that is not tracked yet. A page costs one read over the waiting
   * rows of the filter's subtrees, from where it begins to the last of its `limit`; all pages together read each row once.
   */
  pending(
    scope: MemoryScope,
    read: { readonly model: string; readonly field: string; readonly revision: number },
    options: { readonly filter?: NodeFilter; readonly after?: string; readonly limit: number },
  ): Promise<PendingPage>;
  /** Those of named states whose point of a tracked field waits for its vector. One statement; O(states). */
  pendingAmong(
    scope: MemoryScope,
    read: { readonly model: string; readonly field: string },
    states: readonly StateRef[],
  ): Promise<readonly PointSource[]>;
  /** What a search of a field has to know first. One statement; of what has ended, `limit` at most. */
  standing(
    scope: MemoryScope,
    of: { readonly model?: string | undefined; readonly field: string },
    limit: number,
  ): Promise<Standing>;
  /**
   * Points were stored as given: their rows go, in one transaction, unless the state has ended meanwhile (then a `payload`
   * row is left).
   */
  settle(scope: MemoryScope, model: string, points: readonly StoredPoint[]): Promise<Settlement>;
  /**
   * Of each field the point that was settled last under the model that queries read, as it was told then, unless it has a row:
   * it has to be there. One statement.
   */
  witnesses(scope: MemoryScope): Promise<{ readonly model: string; readonly points: readonly StoredPoint[] }>;
  /** Forgets tracking and rows of models that the memory has left. */
  untrack(scope: MemoryScope): Promise<void>;

  /** Whether all states of the field are counted. */
  isIndexed(scope: MemoryScope, field: string): Promise<boolean>;
  /** Fields whose terms commits count, `""` first. */
  indexedFields(scope: MemoryScope): Promise<readonly string[]>;
  /** As LexicalIndex.indexPage: counts terms, and tracks the field at the end. */
  indexPage(scope: MemoryScope, field: string): Promise<boolean>;
  /** Of a field that is not indexed, or not yet to its end: none. */
  statistics(
    scope: MemoryScope,
    field: string,
    terms: readonly string[],
  ): Promise<LexicalStatistics & { readonly revision: number }>;
}
