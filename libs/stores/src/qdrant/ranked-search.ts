/**
 * A ranking as the ports want it: by value rounded to 1e-6 descending, then document order. Qdrant ranks by its own 32-bit
 * values and cuts ties as they come, so it is asked for a few rows more than are wanted, and for more again until the last
 * row that came is surely behind the last one that is kept. No answer has more than LIMITS.storeRows: where these do not tell, all
 * points of the filter are scored page by page. The filters of a selection are searched beside each other, each for its best.
 */
import pLimit from "p-limit";
import type { Schemas } from "@qdrant/js-client-rest";
import { LIMITS, roundRelevance } from "#core";
import type { HybridCondition, ScoredKey } from "#scoring";
import { BestFirst, byRank, type Ranked } from "../best-first.js";
import { type Collection, DENSE, TERMS } from "./collections.js";
import type { QdrantConnection } from "./connection.js";
import { named, type PointFilter, type Selection, type WiderFilter } from "./filter-conditions.js";
import { pagesOf } from "./named-points.js";
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
/** Rows asked for when all are wanted, or many of them may be sorted out, at first. */
const FIRST_ROWS = 1_024;
const GROWTH = 6;
/** More than rounding and 32-bit sums can add up to. */
const SLACK = 2e-6;
/** Between two rounded values. */
const HALF_STEP = 5e-7;
/** Breadth of an approximate search; recall against time, see docs/adr/0090. */
const BREADTH = 128;

type Row = ScoredKey & Ranked;

/** A search that goes on. */
interface Running extends RankedSearch {
  readonly collection: Collection;
  readonly limit: number;
  /** What was found so far in filters that are done. */
  readonly best: BestFirst<Row>;
  /** As that of the connection, a few at a time, and none after one that failed. */
  readonly send: QdrantConnection["send"];
}

export async function rankedSearch(
  connection: QdrantConnection,
  collection: Collection,
  search: RankedSearch,
): Promise<readonly ScoredKey[]> {
  const { limit = Infinity, selection } = search;
  const inFlight = pLimit(LIMITS.storeRequestsInFlight);
  const failure = new AbortController();
  const send: QdrantConnection["send"] = (doing, request) =>
    inFlight(() => {
      failure.signal.throwIfAborted();
      return connection.send(doing, request);
    });
  const running = { ...search, collection, limit, best: new BestFirst<Row>(limit), send };
  try {
    if (!(await isFoundIn(running, selection.wider))) {
      await Promise.all(selection.filters.map((filter) => findIn(running, filter)));
    }
  } catch (error) {
    failure.abort(error);
    throw error;
  }
  return running.best.ranked().map(({ key, value }) => ({ key, value }));
}

/** Contexts that are very many are often most of a memory: then a few rows have the best, and it is not asked for each part. */
async function isFoundIn(running: Running, wider: WiderFilter | undefined): Promise<boolean> {
  if (wider === undefined) return false;
  const first = running.limit === Infinity ? 0 : running.limit + EXTRA_ROWS;
  return isSurelyFound(running, wider, Math.min(Math.max(FIRST_ROWS, first), LIMITS.storeRows));
}

/** Offers the best of one filter. */
async function findIn(running: Running, filter: PointFilter): Promise<void> {
  const first = running.limit === Infinity ? FIRST_ROWS : running.limit + EXTRA_ROWS;
  for (let asked = Math.min(first, LIMITS.storeRows); ; asked = Math.min(asked * GROWTH, LIMITS.storeRows)) {
    if (await isSurelyFound(running, { filter }, asked)) return;
    if (asked === LIMITS.storeRows) return findInPages({ ...running, exact: true }, filter);
  }
}

/** Offers the best of one filter, `limit` or all of them; nothing, and false, if so many rows do not tell. */
async function isSurelyFound(
  running: Running,
  { filter, accepts }: Partial<WiderFilter> & Pick<WiderFilter, "filter">,
  asked: number,
): Promise<boolean> {
  const { best, limit, selection } = running;
  const { points, above } = await ask(running, filter, asked);
  const found = points
    .map(rowOf)
    .filter(({ key, value }) => value > above && accepts?.(key) !== false)
    .sort(byRank);
  const rows: Row[] = [];
  for (const page of pagesOf(found)) {
    if (rows.length >= limit) break;
    rows.push(...(await livingOf(selection, page)));
  }
  const last = roundRelevance(points.at(-1)?.score ?? 0);
  const kept = rows[limit - 1];
  const isSure = points.length < asked || last <= above || (kept !== undefined && kept.value > last);
  if (isSure) for (const row of rows) best.offer(row);
  return isSure;
}

/**
 * The same where more rows would be needed than one answer may have: all points of the filter by their ids, and their scores by
 * pages. Offsets into a ranking would lose rows among equal values, and where points change meanwhile.
 * 10 s for a million points; of their rows only those come that are better than what was found before.
 */
async function findInPages(running: Running, filter: PointFilter): Promise<void> {
  const { best, collection, selection, send } = running;
  let offset: NonNullable<Schemas["ScrollResult"]["next_page_offset"]> | undefined;
  do {
    const page = await send("reading points", (client) =>
      client.scroll(collection.name, {
        filter,
        limit: LIMITS.storePoints * LIMITS.storeRequestsInFlight,
        ...(offset !== undefined && { offset }),
        with_payload: false,
        with_vector: false,
      }),
    );
    const scoring = pagesOf(page.points.map(({ id }) => String(id))).map(async (ids) => {
      const { points, above } = await ask(running, { must: [named(ids)] }, ids.length);
      const able = points.map(rowOf).filter((row) => row.value > above && best.admits(row));
      for (const row of await livingOf(selection, able)) best.offer(row);
    });
    await Promise.all(scoring);
    offset = page.next_page_offset ?? undefined;
  } while (offset !== undefined);
}

async function livingOf({ living }: Selection, rows: readonly Row[]): Promise<readonly Row[]> {
  if (living === undefined || rows.length === 0) return rows;
  const lives = await living(rows.map(({ key }) => key));
  return rows.filter((_, index) => lives[index] === true);
}

function rowOf(point: Found): Row {
  const key = keyOfPoint(point);
  return { key, value: roundRelevance(point.score), path: key.pathKey };
}

interface Found {
  readonly score: number;
  readonly payload?: unknown;
}

/** Rows that have a chance beside what was found before: those whose value is `above`. */
function ask(
  running: Running,
  filter: PointFilter,
  limit: number,
): Promise<{ readonly points: readonly Found[]; readonly above: number }> {
  const { collection, best, send } = running;
  return send("searching", async (client) => {
    const above = Math.max(running.above, best.threshold - HALF_STEP);
    const { points } = await client.query(collection.name, {
      ...queryOf(running, filter, { params: paramsOf(collection, running, limit), limit }),
      score_threshold: above - SLACK,
      limit,
      with_payload: KEY_FIELDS,
    });
    return { points, above };
  });
}

function queryOf(
  { query }: RankedSearch,
  filter: PointFilter,
  { params, limit }: { readonly params: Schemas["SearchParams"]; readonly limit: number },
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
  { filter, params, limit }: { filter: PointFilter; params: Schemas["SearchParams"]; limit: number },
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
