import { EspalierError, LIMITS, type MemoryScope, type NodeFilter, roundRelevance } from "#core";
import type { FieldTerms, LexicalIndex } from "#memory";
import { type LexicalStatistics, type QueryTermWeights, type ScoredKey, type StateRef, termWeights } from "#scoring";
import { byRank } from "../best-first.js";
import type { PendingPoint } from "../distributed/point-ledger.js";
import { selectionOf } from "./filter-conditions.js";
import { namedPoints, pagesOf, scoresOf } from "./named-points.js";
import { rankedSearch } from "./ranked-search.js";
import { sparseQuery } from "./sparse-terms.js";
import type { QdrantParts } from "./vector-store.js";

/**
 * Term weights as the sparse vectors of the points under the memory's model; which fields are counted and how often a term
 * occurs is the ledger's. States whose points are not stored yet are weighed here, from their texts: values are those of the
 * moment of the query, with or without workers.
 */
export class QdrantLexicalIndex implements LexicalIndex {
  constructor(private readonly parts: QdrantParts) {}

  async indexed(scope: MemoryScope, field: string): Promise<boolean> {
    return (await this.fields(scope)).includes(field);
  }

  /** Documents are counted; their weights come with their points. */
  async index(scope: MemoryScope, field: string, terms: readonly FieldTerms[], revision: number): Promise<void> {
    const frequencies = new Map<string, number>();
    const documents = await this.#existing(scope, field, terms);
    for (const { weights } of documents) {
      for (const term of weights.keys()) frequencies.set(term, (frequencies.get(term) ?? 0) + 1);
    }
    await this.parts.ledger.indexField(scope, field, { revision, documents: documents.length, frequencies });
  }

  fields(scope: MemoryScope): Promise<readonly string[]> {
    return this.parts.ledger.indexedFields(scope);
  }

  statistics(scope: MemoryScope, field: string, terms: readonly string[]): Promise<LexicalStatistics> {
    return this.parts.ledger.statistics(scope, field, terms);
  }

  async scores(
    scope: MemoryScope,
    read: { readonly revision: number; readonly field: string },
    terms: QueryTermWeights,
    states: readonly StateRef[],
  ): Promise<Float64Array> {
    const { connection, collections, ledger } = this.parts;
    if (terms.size === 0 || states.length === 0) {
      await ledger.memory(scope);
      return new Float64Array(states.length);
    }
    const { model, pending } = await this.#pending(scope, read);
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
    read: { readonly revision: number; readonly field: string },
    terms: QueryTermWeights,
    filter: NodeFilter,
    { above, limit }: { readonly above: number; readonly limit?: number },
  ): Promise<readonly ScoredKey[]> {
    const { connection, collections, ledger, payloads } = this.parts;
    if (terms.size === 0) {
      await ledger.memory(scope);
      return [];
    }
    const { model, pending } = await this.#pending(scope, read, filter);
    const collection = await collections.find(model);
    await payloads.catchUp(scope, { model, field: read.field }, collection);
    const stored =
      collection &&
      (await rankedSearch(connection, collection, {
        query: { terms: sparseQuery(terms) },
        selection: selectionOf(scope, read, filter),
        above,
        ...(limit !== undefined && { limit }),
        exact: true,
      }));
    const weighed = pending
      .map(({ text, ...point }) => ({ key: keyOf(point), value: roundRelevance(valueOf(text, terms)) }))
      .filter(({ value }) => value > above);
    return merge(stored ?? [], weighed).slice(0, limit);
  }

  /** States that are live at the revision and whose point is not stored, and the model that is meant by that. */
  async #pending(
    scope: MemoryScope,
    { revision, field }: { readonly revision: number; readonly field: string },
    filter?: NodeFilter,
  ): Promise<{ readonly model: string; readonly pending: readonly PendingPoint[] }> {
    const { ledger } = this.parts;
    const { model } = await ledger.memory(scope);
    const pending = await ledger.pending(
      scope,
      { model, field, revision },
      { ...(filter !== undefined && { filter }), task: "vector", limit: LIMITS.pendingTexts + 1 },
    );
    if (pending.length > LIMITS.pendingTexts) {
      throw new EspalierError(
        "store_unavailable",
        `More than ${LIMITS.pendingTexts} nodes of ${scope.memory} wait for their vectors. Retry when workers have caught up.`,
        { details: { memory: scope.memory, limit: LIMITS.pendingTexts } },
      );
    }
    return { model, pending };
  }

  /** The documents whose states are there and live. */
  async #existing(scope: MemoryScope, field: string, terms: readonly FieldTerms[]): Promise<readonly FieldTerms[]> {
    const existing: FieldTerms[] = [];
    for (const page of pagesOf(terms.map((document) => ({ ...document, field })))) {
      const sources = await this.parts.ledger.sources(scope, page);
      const live = new Set(sources.filter(({ died }) => died === undefined).map(stateKey));
      existing.push(...page.filter((document) => live.has(stateKey(document))));
    }
    return existing;
  }
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

const keyOf = ({ id, born, type, parentId, pathKey, depth }: Omit<PendingPoint, "text">): ScoredKey["key"] => ({
  id,
  born,
  type,
  parentId,
  pathKey,
  depth,
});

const stateKey = ({ id, born }: StateRef): string => `${id}@${born}`;
