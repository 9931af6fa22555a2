import { LIMITS, type MemoryScope, type NodeFilter, roundRelevance } from "#core";
import type { LexicalIndex, LexicalRead } from "#memory";
import {
  type LexicalStatistics,
  type QueryTermWeights,
  type ScoredKey,
  stateKey,
  type StateRef,
  termWeights,
} from "#scoring";
import { BestFirst, byRank, type Ranked } from "../best-first.js";
import type { PointSource } from "../distributed/point-ledger.js";
import { withoutEnded } from "./ended-states.js";
import { selectionOf } from "./filter-conditions.js";
import { namedPoints, pagesOf, scoresOf } from "./named-points.js";
import { rankedSearch } from "./ranked-search.js";
import { sparseQuery } from "./sparse-terms.js";
import type { QdrantParts } from "./vector-store.js";

/**
 * Term weights as the sparse vectors of the points under the memory's model; which fields are counted and how often a term
 * occurs is the ledger's. States whose points are not stored yet are weighed here, from their texts: values are those of the
 * moment of the query, with or without workers. What waits is read a page at a time and only what matches is kept, so that a
 * query costs its share of the backlog in time (a second for some 50,000 texts), and never in memory.
 */
export class QdrantLexicalIndex implements LexicalIndex {
  constructor(private readonly parts: QdrantParts) {}

  indexed(scope: MemoryScope, field: string): Promise<boolean> {
    return this.parts.ledger.isIndexed(scope, field);
  }

  /** Terms are counted by the ledger; their weights come with their points. */
  indexPage(scope: MemoryScope, field: string): Promise<boolean> {
    return this.parts.ledger.indexPage(scope, field);
  }

  fields(scope: MemoryScope): Promise<readonly string[]> {
    return this.parts.ledger.indexedFields(scope);
  }

  /** What a search has to know comes with it: the terms are weighed before they are looked for. */
  statistics(
    scope: MemoryScope,
    { field, view }: Pick<LexicalRead, "field" | "view">,
    terms: readonly string[],
  ): Promise<LexicalStatistics> {
    this.parts.standings.ahead(scope, { field, view });
    return this.parts.ledger.statistics(scope, field, terms);
  }

  async scores(
    scope: MemoryScope,
    read: LexicalRead,
    terms: QueryTermWeights,
    states: readonly StateRef[],
  ): Promise<Float64Array> {
    const { connection, collections, ledger, standings } = this.parts;
    if (terms.size === 0 || states.length === 0) {
      await ledger.memory(scope);
      return new Float64Array(states.length);
    }
    const { model, waits } = await standings.of(scope, { field: read.field, view: read.view });
    const pending = waits ? await this.#pendingAmong(scope, { ...read, model }, states) : [];
    const weighed = new Map(pending.map((point) => [stateKey(point), valueOf(point.text, terms)]));
    const collection = await collections.find(model);
    const refs = states.map(({ id, born }) => ({ id, born, field: read.field }));
    const stored = collection && (await scoresOf(connection, namedPoints(collection, scope, refs), sparseQuery(terms)));
    return Float64Array.from(states, (state, index) => {
      const value = weighed.get(stateKey(state)) ?? stored?.[index] ?? 0;
      return Number.isNaN(value) ? 0 : value;
    });
  }

  async matches(
    scope: MemoryScope,
    read: LexicalRead,
    terms: QueryTermWeights,
    filter: NodeFilter,
    bounds: Bounds,
  ): Promise<readonly ScoredKey[]> {
    const { connection, collections, ledger, standings } = this.parts;
    if (terms.size === 0) {
      await ledger.memory(scope);
      return [];
    }
    const { model, waits, ended } = await standings.of(scope, { field: read.field, view: read.view });
    const weighed = waits ? await this.#weighPending(scope, { ...read, model, filter }, terms, bounds) : [];
    const collection = await collections.find(model);
    const selection = withoutEnded(ledger, scope, read, { ended, selection: selectionOf(scope, read, filter) });
    const stored =
      collection &&
      (await rankedSearch(connection, collection, {
        query: { terms: sparseQuery(terms) },
        selection,
        ...bounds,
        exact: true,
      }));
    return merge(stored ?? [], weighed).slice(0, bounds.limit);
  }

  /** Those of named states that wait: where few wait at all, all of them. */
  async #pendingAmong(
    scope: MemoryScope,
    read: PendingRead,
    states: readonly StateRef[],
  ): Promise<readonly PointSource[]> {
    const { ledger } = this.parts;
    const { points, next } = await ledger.pending(scope, read, { limit: LIMITS.pendingPageTexts });
    if (next === undefined) return points;
    const found: PointSource[] = [];
    for (const page of pagesOf(states)) found.push(...(await ledger.pendingAmong(scope, read, page)));
    return found;
  }

  /** The matches among the states of a filter that wait. */
  async #weighPending(
    scope: MemoryScope,
    { filter, ...read }: PendingRead & { readonly filter: NodeFilter },
    terms: QueryTermWeights,
    { above, limit = Infinity }: Bounds,
  ): Promise<readonly ScoredKey[]> {
    const best = new BestFirst<ScoredKey & Ranked>(limit);
    let after: string | undefined;
    do {
      const page = await this.parts.ledger.pending(scope, read, {
        ...{ filter, limit: LIMITS.pendingPageTexts },
        ...(after !== undefined && { after }),
      });
      for (const { text, ...point } of page.points) {
        const value = roundRelevance(valueOf(text, terms));
        if (value > above) best.offer({ key: keyOf(point), value, path: point.pathKey });
      }
      after = page.next;
    } while (after !== undefined);
    return best.ranked().map(({ key, value }) => ({ key, value }));
  }
}

/** Which nodes a search answers. */
interface Bounds {
  readonly above: number;
  readonly limit?: number;
}

/** The points that are asked for, under the model that is meant by that. */
interface PendingRead {
  readonly model: string;
  readonly field: string;
  readonly revision: number;
}

/** A point can be stored between the two reads: what was weighed here counts. */
function merge(stored: readonly ScoredKey[], weighed: readonly ScoredKey[]): readonly ScoredKey[] {
  if (weighed.length === 0) return stored;
  const own = new Set(weighed.map(({ key }) => stateKey(key)));
  return [...stored.filter(({ key }) => !own.has(stateKey(key))), ...weighed].sort((left, right) =>
    byRank({ ...left, path: left.key.pathKey }, { ...right, path: right.key.pathKey }),
  );
}

function valueOf(text: string, terms: QueryTermWeights): number {
  const weights = termWeights(text);
  return [...terms].reduce((sum, [term, factor]) => sum + factor * (weights.get(term) ?? 0), 0);
}

const keyOf = ({ id, born, type, parentId, pathKey, depth }: Omit<PointSource, "text">): ScoredKey["key"] => ({
  id,
  born,
  type,
  parentId,
  pathKey,
  depth,
});
