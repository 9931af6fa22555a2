import { type NodeFilter, NODE_FIELD } from "#core";
import {
  type LexicalScores,
  type LexicalStatistics,
  type QueryTermWeights,
  type ScoredKey,
  type StateRef,
  termWeights,
  type TextSource,
} from "#scoring";
import type { LexicalIndex, LexicalRead } from "../ports/vector-store.js";
import type { Snapshot } from "./snapshot.js";
import type { Views } from "./views.js";

/** Makes sure that an attribute field of a memory is indexed. */
export type EnsureIndexed = (snapshot: Snapshot, field: string) => Promise<void>;

/** What the term weights of a memory need beside their index. */
export interface LexicalSides {
  readonly texts: TextSource;
  readonly ensureIndexed: EnsureIndexed;
  readonly views: Views;
}

/**
 * The term weights of one memory at the revision of a query; an attribute field is indexed on first use. The index of an
 * attribute begins with the states that were live then, so that a read of an older revision weighs texts itself.
 */
export class BoundLexical implements LexicalScores {
  constructor(
    private readonly index: LexicalIndex,
    private readonly snapshot: Snapshot,
    private readonly sources: LexicalSides,
  ) {}

  /** Counted over the live head states, also for reads of an older revision. */
  async statistics(field: string, terms: readonly string[]): Promise<LexicalStatistics> {
    await this.#ensure(field);
    return this.index.statistics(this.snapshot.scope, this.#read(field), terms);
  }

  async scores(field: string, terms: QueryTermWeights, states: readonly StateRef[]): Promise<Float64Array> {
    if (field !== NODE_FIELD && isPast(this.snapshot)) return this.#weigh(field, terms, states);
    return this.index.scores(this.snapshot.scope, this.#read(field), terms, states);
  }

  matches(
    field: string,
    terms: QueryTermWeights,
    filter: NodeFilter,
    options: { readonly above: number; readonly limit?: number },
  ): Promise<readonly ScoredKey[]> {
    return this.index.matches(this.snapshot.scope, this.#read(field), terms, filter, options);
  }

  #read(field: string): LexicalRead {
    return { revision: this.snapshot.revision, field, view: this.sources.views.of(this.snapshot) };
  }

  async #ensure(field: string): Promise<void> {
    if (field !== NODE_FIELD) await this.sources.ensureIndexed(this.snapshot, field);
  }

  async #weigh(field: string, terms: QueryTermWeights, states: readonly StateRef[]): Promise<Float64Array> {
    const texts = await this.sources.texts.texts(field, states);
    return Float64Array.from(texts, (text) => {
      const weights = termWeights(text ?? "");
      return [...terms].reduce((sum, [term, factor]) => sum + factor * (weights.get(term) ?? 0), 0);
    });
  }
}

/** Whether the query reads an older revision than the head it was pinned at. */
export function isPast({ revision, memory }: Snapshot): boolean {
  return revision < memory.revision;
}
