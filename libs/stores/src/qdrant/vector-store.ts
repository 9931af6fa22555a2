import pLimit from "p-limit";
import { LIMITS, type MemoryScope, type NodeFilter } from "#core";
import type { Fingerprint, VectorPoint, VectorRead, VectorStore } from "#memory";
import type { HybridCondition, Ranking, StateRef } from "#scoring";
import { leftModel } from "../distributed/left-model.js";
import type { PointLedger, PointSource, Standing } from "../distributed/point-ledger.js";
import { FingerprintSum } from "../point-fingerprint.js";
import { checkDimension, type Collection, type Collections } from "./collections.js";
import type { QdrantConnection } from "./connection.js";
import { deleteMemoryPoints } from "./delete-points.js";
import { withoutEnded } from "./ended-states.js";
import { selectionOf, type Selection } from "./filter-conditions.js";
import { namedPoints, pagesOf, present, removePoints, scoresOf } from "./named-points.js";
import type { PointPayloads } from "./point-payloads.js";
import { type PointToStore, storePoints } from "./store-points.js";
import { pagesOfPoints } from "./scroll-points.js";
import { type RankedSearch, rankedSearch } from "./ranked-search.js";
import { sparseQuery } from "./sparse-terms.js";
import { KNOWN_ENDS, type Standings } from "./standings.js";
import { unlessGone } from "./unless-gone.js";

/** What the three ports of a Qdrant share. */
export interface QdrantParts {
  readonly connection: QdrantConnection;
  readonly collections: Collections;
  readonly ledger: PointLedger;
  readonly standings: Standings;
  readonly payloads: PointPayloads;
}

/**
 * Points of one page, and pages at once: while one of them is stored, the texts of the next are read and weighed, and the one
 * before is told to the ledger.
 */
const UPSERT_POINTS = 300;
const UPSERTS_IN_FLIGHT = 3;

interface VectorSearch {
  readonly collection: Collection | undefined;
  readonly standing: Standing;
  readonly query: RankedSearch["query"];
  readonly filter: NodeFilter;
  readonly limit: number;
  readonly exact: boolean;
}

/** Vectors in Qdrant: one collection per model, one point per (state, field). What the points are made of is the ledger's to say. */
export class QdrantVectorStore implements VectorStore {
  constructor(private readonly parts: QdrantParts) {}

  async scores(
    scope: MemoryScope,
    { model, field }: VectorRead,
    vector: Float32Array,
    states: readonly StateRef[],
  ): Promise<Float64Array> {
    const collection = await this.#collection(model, vector);
    if (collection === undefined || states.length === 0) {
      await this.parts.ledger.memory(scope);
      return new Float64Array(states.length).fill(Number.NaN);
    }
    return scoresOf(this.parts.connection, namedPoints(collection, scope, ofField(states, field)), vector);
  }

  async topK(
    scope: MemoryScope,
    read: VectorRead,
    vector: Float32Array,
    filter: NodeFilter,
    { limit, exact }: { readonly limit: number; readonly exact: boolean },
  ): Promise<Ranking> {
    const collection = await this.#collection(read.model, vector);
    const standing = await this.parts.standings.of(scope, read);
    const query = { dense: vector };
    return this.#ranked(scope, read, { collection, standing, query, filter, limit, exact });
  }

  /**
   * While texts wait their terms are weighed elsewhere; where a great part of a memory has the terms, scoring it all takes
   * longer. All that have them must be found: no more than were counted at the revision that is read.
   */
  async hybridTopK(
    scope: MemoryScope,
    read: VectorRead,
    condition: HybridCondition,
    filter: NodeFilter,
    { limit, exact }: { readonly limit: number; readonly exact: boolean },
  ): Promise<Ranking | undefined> {
    if (condition.counted !== read.revision || condition.matches > LIMITS.hybridMatches) return undefined;
    const collection = await this.#collection(read.model, condition.vector);
    const standing = await this.parts.standings.of(scope, read);
    if (standing.waits || standing.ended.length >= KNOWN_ENDS) return undefined;
    const query = { ...condition, terms: sparseQuery(condition.terms) };
    return this.#ranked(scope, read, { collection, standing, query, filter, limit, exact });
  }

  async missing(
    scope: MemoryScope,
    read: VectorRead,
    of: { readonly filter: NodeFilter } | { readonly states: readonly StateRef[] },
    limit: number,
  ): Promise<readonly (StateRef & { readonly text: string })[]> {
    const sources =
      "filter" in of
        ? (await this.parts.ledger.pending(scope, read, { filter: of.filter, limit })).points
        : await this.#absent(scope, read, of.states, limit);
    return sources.map(({ id, born, text }) => ({ id, born, text }));
  }

  async upsert(scope: MemoryScope, points: readonly VectorPoint[]): Promise<void> {
    const limit = pLimit(UPSERTS_IN_FLIGHT);
    let failed = false;
    let before = Promise.resolve();
    const pages = [...Map.groupBy(points, (point) => point.model)].flatMap(([model, own]) =>
      pagesOf(own, UPSERT_POINTS).map((page) => ({ model, page })),
    );
    const upserts = pages.map(({ model, page }) =>
      limit(async () => {
        if (failed) return;
        before = this.#upsertPage(scope, model, page, before);
        await before.catch((error: unknown) => {
          failed = true;
          throw error;
        });
      }),
    );
    // Nothing goes on when the caller hears of a failure.
    for (const outcome of await Promise.allSettled(upserts)) if (outcome.status === "rejected") throw outcome.reason;
  }

  /**
   * Whether vectors could be stored as they are: of one length per model, that of the model's collection.
   * @throws EspalierError `model_dimension`
   */
  async check(vectors: readonly Pick<VectorPoint, "model" | "embedding">[]): Promise<void> {
    for (const [model, own] of Map.groupBy(vectors, (vector) => vector.model)) {
      const dimension = own[0]?.embedding.vector.length ?? 0;
      const collection = (await this.parts.collections.find(model)) ?? { name: "", model, dimension, quantized: false };
      for (const { embedding } of own) checkDimension(collection, embedding.vector.length);
    }
  }

  /** Nobody can track a model again that the memory has left, nor settle a point of it. Forgotten last: until then it is known what is left. */
  async deleteFormer(scope: MemoryScope): Promise<number> {
    const { ledger, collections } = this.parts;
    const { model, next } = await ledger.memory(scope);
    const current = new Set([model, next].flatMap((one) => (one === undefined ? [] : collections.nameOf(one))));
    const deleted = await deleteMemoryPoints(this.parts, scope, (name) => !current.has(name));
    await ledger.untrack(scope);
    return deleted;
  }

  async fingerprint(scope: MemoryScope, model: string): Promise<Fingerprint> {
    const { connection, collections, ledger } = this.parts;
    await ledger.memory(scope);
    const collection = await collections.find(model);
    const sum = new FingerprintSum();
    if (collection !== undefined) {
      for await (const page of pagesOfPoints(connection, collection.name, scope)) sum.add(page);
    }
    return sum.fingerprint;
  }

  async #ranked(
    scope: MemoryScope,
    read: VectorRead,
    { collection, standing, query, filter, limit, exact }: VectorSearch,
  ): Promise<Ranking> {
    if (collection === undefined) return { rows: [], approximate: false };
    const { connection, collections, ledger } = this.parts;
    const { nodes, ended } = standing;
    const selection = withoutEnded(ledger, scope, read, { ended, selection: selectionOf(scope, read, filter) });
    const approximate = !exact && nodes >= collections.exactBelow && (await this.#isLarge(collection, selection));
    const search = { query, selection, above: 0, limit, exact: !approximate };
    return { rows: await rankedSearch(connection, collection, search), approximate };
  }

  async #collection(model: string, vector: Float32Array): Promise<Collection | undefined> {
    const collection = await this.parts.collections.find(model);
    if (collection !== undefined) checkDimension(collection, vector.length);
    return collection;
  }

  /** Whether a search may be approximate. An index would run out of rows where some are sorted out, and helps little with many contexts. */
  async #isLarge({ name }: Collection, { filters: [filter, ...others], living }: Selection): Promise<boolean> {
    const { connection, collections } = this.parts;
    if (filter === undefined || others.length > 0 || living !== undefined) return false;
    const { count } = await connection.send("counting candidates", (client) =>
      client.count(name, { filter, exact: false }),
    );
    return count >= collections.exactBelow;
  }

  /** Named states that live at the revision and whose point is really not there, whatever the ledger says. */
  async #absent(
    scope: MemoryScope,
    { model, field, revision }: VectorRead,
    states: readonly StateRef[],
    limit: number,
  ): Promise<readonly PointSource[]> {
    const { connection, collections, ledger } = this.parts;
    const collection = await collections.find(model);
    const found: PointSource[] = [];
    for (const page of pagesOf(ofField(states, field))) {
      const there = collection && (await present(connection, namedPoints(collection, scope, page)));
      const absent = page.filter((_, index) => there?.[index] !== true);
      const sources = absent.length === 0 ? [] : await ledger.sources(scope, absent);
      found.push(...sources.filter(({ born, died }) => born <= revision && (died === undefined || revision < died)));
      if (found.length >= limit) break;
    }
    return found.slice(0, limit);
  }

  /** Settled after the page before: the last point that the ledger knows of was not stored before others. */
  async #upsertPage(
    scope: MemoryScope,
    model: string,
    points: readonly VectorPoint[],
    before: Promise<void>,
  ): Promise<void> {
    const { connection, collections, ledger } = this.parts;
    const known = await this.#withSources(scope, points);
    const dimension = known[0]?.embedding.vector.length;
    if (dimension === undefined) return;
    const collection = await collections.open(model, dimension);
    for (const { embedding } of known) checkDimension(collection, embedding.vector.length);
    await storePoints(connection, collection, scope, known);
    await before;
    const stored = known.map(({ source }) => source);
    const settlement = await ledger.settle(scope, model, stored);
    if (settlement === "settled") return;
    await removePoints(connection, namedPoints(collection, scope, stored));
    if (settlement === "left") throw leftModel(scope, model);
  }

  /** Points of states that are there; none if the memory is gone. */
  async #withSources(scope: MemoryScope, points: readonly VectorPoint[]): Promise<readonly PointToStore[]> {
    const sources = await unlessGone(this.parts.ledger.sources(scope, points));
    const embeddings = new Map(points.map((point) => [nameOf(point), point.embedding]));
    return (sources ?? []).flatMap((source) => {
      const embedding = embeddings.get(nameOf(source));
      return embedding === undefined ? [] : [{ source, embedding }];
    });
  }
}

const ofField = (states: readonly StateRef[], field: string): readonly (StateRef & { readonly field: string })[] =>
  states.map(({ id, born }) => ({ id, born, field }));

const nameOf = ({ id, born, field }: StateRef & { readonly field: string }): string =>
  JSON.stringify([id, born, field]);
