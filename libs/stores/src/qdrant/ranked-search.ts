/**
 * A ranking as the ports want it: by value rounded to 1e-6 descending, then document order. Qdrant ranks by its own 32-bit
 * values and cuts ties as they come, so it is asked for a few rows more than are wanted, and for more again until the last
 * row that came is surely behind the last one that is kept.
 */
import type { Schemas } from "@qdrant/js-client-rest";
import { roundRelevance } from "#core";
import type { HybridCondition, ScoredKey } from "#scoring";
import { byRank } from "../best-first.js";
import { type Collection, DENSE, TERMS } from "./collections.js";
import type { QdrantConnection } from "./connection.js";
import type { Selection } from "./filter-conditions.js";
import { KEY_FIELDS, keyOfPoint } from "./points.js";
import type { SparseVector } from "./sparse-terms.js";

/** Both sides of a condition: the terms as they are looked for. */
interface HybridQuery extends Omit<HybridCondition, "terms"> {
  readonly terms: SparseVector;
}

export interface RankedSearch {
  readonly query: { readonly dense: Float32Array } | { readonly terms: SparseVector } | HybridQuery;
  readonly selection: Selection;
  /** Values up to this one are left out. */
  readonly above: number;
  /** Absent: all. */
  readonly limit?: number;
  readonly exact: boolean;
}

/** Rows asked for beyond the limit: most cuts are through no tie. */
const EXTRA_ROWS = 16;
/** Rows asked for when all are wanted, at first. */
const FIRST_ROWS = 1_024;
const GROWTH = 6;
/** More than rounding and 32-bit sums can add up to. */
const SLACK = 2e-6;
/** Breadth of an approximate search; recall against time, see docs/adr/0090. */
const BREADTH = 128;

export async function rankedSearch(
  connection: QdrantConnection,
  collection: Collection,
  search: RankedSearch,
): Promise<readonly ScoredKey[]> {
  const { limit, above, selection } = search;
  for (let asked = limit === undefined ? FIRST_ROWS : limit + EXTRA_ROWS; ; asked *= GROWTH) {
    const points = await ask(connection, collection, search, asked);
    const found = points
      .map((point) => ({ key: keyOfPoint(point), value: roundRelevance(point.score) }))
      .filter(({ key, value }) => value > above && selection.accepts?.(key) !== false);
    const living = await selection.living?.(found.map(({ key }) => key));
    const rows = found
      .filter((_, index) => living?.[index] !== false)
      .sort((left, right) => byRank({ ...left, path: left.key.pathKey }, { ...right, path: right.key.pathKey }));
    const last = roundRelevance(points.at(-1)?.score ?? 0);
    const kept = limit === undefined ? undefined : rows[limit - 1];
    if (points.length < asked || last <= above || (kept !== undefined && kept.value > last)) {
      return rows.slice(0, limit);
    }
  }
}

async function ask(
  connection: QdrantConnection,
  collection: Collection,
  search: RankedSearch,
  limit: number,
): Promise<readonly { readonly score: number; readonly payload?: unknown }[]> {
  const { points } = await connection.send("searching", (client) =>
    client.query(collection.name, {
      ...queryOf(search, paramsOf(collection, search, limit), limit),
      score_threshold: search.above - SLACK,
      limit,
      with_payload: KEY_FIELDS,
    }),
  );
  return points;
}

function queryOf(
  { query, selection: { filter } }: RankedSearch,
  params: Schemas["SearchParams"],
  limit: number,
): Schemas["QueryRequest"] {
  if ("a" in query) return hybridOf(query, { filter, params, limit });
  return "dense" in query ? { ...nearest(query.dense), filter, params } : { ...matching(query.terms), filter, params };
}

const nearest = (vector: Float32Array): Schemas["QueryRequest"] => ({ query: [...vector], using: DENSE });
const matching = (terms: SparseVector): Schemas["QueryRequest"] => ({ query: terms, using: TERMS });

/**
 * The cosines of all points that have one of the terms, what the terms are worth to them, and the nearest of all points. Those
 * that are in none of the three have no more than the last of the nearest. A cosine can come from the first or from the
 * third, and is not below 0: the formula has no maximum, but an absolute value.
 */
function hybridOf(
  { vector, terms, a, matches }: HybridQuery,
  { filter, params, limit }: { filter: Selection["filter"]; params: Schemas["SearchParams"]; limit: number },
): Schemas["QueryRequest"] {
  // More than were counted: other terms can share a dimension with one of these.
  const all = { ...matching(terms), filter, limit: 2 * matches + EXTRA_ROWS };
  const similarity = { ...nearest(vector), score_threshold: 0 };
  const [one, other] = ["$score[0]", "$score[2]"];
  const twice = { sum: [one, other, { abs: { sum: [one, { neg: other }] } }] };
  return {
    prefetch: [
      { ...similarity, prefetch: all, params: { ...params, exact: true }, limit: all.limit },
      all,
      { ...similarity, filter, params, limit },
    ],
    query: {
      formula: { sum: [{ mult: [a / 2, twice] }, { mult: [1 - a, "$score[1]"] }] },
      defaults: { "$score[0]": 0, "$score[1]": 0, "$score[2]": 0 },
    },
  };
}

function paramsOf({ quantized }: Collection, { exact }: RankedSearch, limit: number): Schemas["SearchParams"] {
  if (exact) return { exact, ...(quantized && { quantization: { ignore: true } }) };
  return {
    hnsw_ef: Math.max(BREADTH, 2 * limit),
    ...(quantized && { quantization: { rescore: true, oversampling: 2 } }),
  };
}
