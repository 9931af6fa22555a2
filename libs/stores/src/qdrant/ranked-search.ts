/**
 * A ranking as the ports want it: by value rounded to 1e-6 descending, then document order. Qdrant ranks by its own 32-bit
 * values and cuts ties as they come, so it is asked for a few rows more than are wanted, and for more again until the last
 * row that came is surely behind the last one that is kept.
 */
import { roundRelevance } from "#core";
import type { ScoredKey } from "#scoring";
import { byRank } from "../best-first.js";
import { type Collection, DENSE, TERMS } from "./collections.js";
import type { QdrantConnection } from "./connection.js";
import type { Selection } from "./filter-conditions.js";
import { KEY_FIELDS, keyOfPoint } from "./points.js";
import type { SparseVector } from "./sparse-terms.js";

export interface RankedSearch {
  readonly query: { readonly dense: Float32Array } | { readonly terms: SparseVector };
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
  { name, quantized }: Collection,
  { query, selection, above, exact }: RankedSearch,
  limit: number,
): Promise<readonly { readonly score: number; readonly payload?: unknown }[]> {
  const [using, vector] = "dense" in query ? [DENSE, [...query.dense]] : [TERMS, query.terms];
  const { points } = await connection.send("searching", (client) =>
    client.query(name, {
      query: vector,
      using,
      filter: selection.filter,
      params: exact
        ? { exact: true, ...(quantized && { quantization: { ignore: true } }) }
        : {
            hnsw_ef: Math.max(BREADTH, 2 * limit),
            ...(quantized && { quantization: { rescore: true, oversampling: 2 } }),
          },
      score_threshold: above - SLACK,
      limit,
      with_payload: KEY_FIELDS,
    }),
  );
  return points;
}
