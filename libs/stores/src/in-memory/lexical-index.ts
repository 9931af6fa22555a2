import { fieldText, type MemoryScope, type NodeFilter, roundRelevance } from "#core";
import type { LexicalIndex, LexicalRead } from "#memory";
import { type LexicalStatistics, type QueryTermWeights, type ScoredKey, type StateRef, termWeights } from "#scoring";
import { byRank } from "../best-first.js";
import { indexedFields } from "./commit.js";
import { isInFilter, keyOfState } from "./filter.js";
import { liveStates, stateKey, type StoredMemory, type Tables } from "./tables.js";

/** Term weights per state: every read looks at every document. */
export class InMemoryLexicalIndex implements LexicalIndex {
  constructor(private readonly tables: Tables) {}

  async indexed(scope: MemoryScope, field: string): Promise<boolean> {
    return indexedFields(this.tables.find(scope)).includes(field);
  }

  /** One page is all. */
  async indexPage(scope: MemoryScope, field: string): Promise<boolean> {
    const stored = this.tables.find(scope);
    if (indexedFields(stored).includes(field)) return true;
    const documents = liveStates(stored, stored.memory.revision).flatMap((state) => {
      const text = fieldText(state, field) ?? "";
      return text === "" ? [] : [[stateKey(state), termWeights(text)] as const];
    });
    stored.terms.set(field, new Map(documents));
    return true;
  }

  async fields(scope: MemoryScope): Promise<readonly string[]> {
    return indexedFields(this.tables.find(scope));
  }

  async statistics(
    scope: MemoryScope,
    { field }: Pick<LexicalRead, "field">,
    terms: readonly string[],
  ): Promise<LexicalStatistics> {
    const stored = this.tables.find(scope);
    const documents = liveStates(stored, stored.memory.revision).flatMap(
      (state) => weightsOf(stored, field, state) ?? [],
    );
    const frequencies = terms.map((term) => [term, documents.filter((weights) => weights.has(term)).length] as const);
    return { documents: documents.length, frequencies: new Map(frequencies.filter(([, count]) => count > 0)) };
  }

  async scores(
    scope: MemoryScope,
    { field }: { readonly revision: number; readonly field: string },
    terms: QueryTermWeights,
    states: readonly StateRef[],
  ): Promise<Float64Array> {
    const stored = this.tables.find(scope);
    return Float64Array.from(states, (state) => valueOf(weightsOf(stored, field, state), terms));
  }

  async matches(
    scope: MemoryScope,
    { revision, field }: { readonly revision: number; readonly field: string },
    terms: QueryTermWeights,
    filter: NodeFilter,
    { above, limit }: { readonly above: number; readonly limit?: number },
  ): Promise<readonly ScoredKey[]> {
    const stored = this.tables.find(scope);
    return liveStates(stored, revision)
      .filter((state) => isInFilter(state, filter))
      .map((state) => ({
        key: keyOfState(state),
        value: roundRelevance(valueOf(weightsOf(stored, field, state), terms)),
      }))
      .filter(({ value }) => value > above)
      .sort((left, right) => byRank({ ...left, path: left.key.pathKey }, { ...right, path: right.key.pathKey }))
      .slice(0, limit);
  }
}

function weightsOf(stored: StoredMemory, field: string, state: StateRef): ReadonlyMap<string, number> | undefined {
  return stored.terms.get(field)?.get(stateKey(state));
}

function valueOf(weights: ReadonlyMap<string, number> | undefined, terms: QueryTermWeights): number {
  return [...terms].reduce((sum, [term, factor]) => sum + factor * (weights?.get(term) ?? 0), 0);
}
