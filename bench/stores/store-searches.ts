/** Searches among the items of a memory: the best ten by each scorer, and scores of named items. */
import type { NodeFilter } from "#core";
import {
  Embedder,
  embeddingProcessCache,
  HybridScorer,
  LexicalScorer,
  type LexicalScores,
  queryTerms,
  queryTermWeights,
  type QueryTermWeights,
  type Scorer,
  SimilarityScorer,
  type VectorScores,
} from "#scoring";
import { unitVector } from "../engine/hashed-model.js";
import { CONDITIONS } from "../engine/sentences.js";
import type { Comparison } from "./comparison.js";
import type { GrownPoints } from "./grow-points.js";
import { BENCH_MODEL, type GrownTree, HYBRID_A } from "./grow-tree.js";
import type { SearchByHand, SearchStores } from "./store-engine.js";

const ITEMS: NodeFilter = { type: "Item", scope: { kind: "descendants", of: [""] } };
const TOP = 10;

/** Each round has the next condition. */
export async function storeSearches(
  stores: SearchStores,
  tree: GrownTree,
  points: GrownPoints,
): Promise<readonly Comparison[]> {
  const { named } = points;
  const byHand = await stores.byHand(tree, points);
  const terms = await Promise.all(CONDITIONS.map((text) => weighed(byHand, text)));
  const textOf = (round: number): string => CONDITIONS[round % CONDITIONS.length] ?? "";
  const termsOf = (round: number): QueryTermWeights => terms[round % terms.length] ?? new Map();
  const vectorOf = (round: number): Float32Array => unitVector(textOf(round), BENCH_MODEL.dimension);
  const run = { now: () => performance.now() };
  const embedder = new Embedder(BENCH_MODEL, { processCache: embeddingProcessCache(), now: run.now });
  const sources = boundTo(stores, tree);
  const best = async (scorer: Scorer, round: number, exact: boolean): Promise<number> => {
    const { rows } = await scorer.topK({ field: "", text: textOf(round), filter: ITEMS, limit: TOP, exact });
    return rows.length;
  };
  const similarity = new SimilarityScorer({ ...sources, embedder }, run);
  const byTerms = new LexicalScorer(sources, run);
  const hybrid = new HybridScorer({ ...sources, embedder, a: HYBRID_A }, run);
  const topByBoth = (round: number) =>
    hybrid.topK({ field: "", text: textOf(round), filter: ITEMS, limit: TOP, exact: false });
  const broad = await byHand.broadenHybrid?.(
    CONDITIONS.map((_, round) => ({ vector: vectorOf(round), terms: termsOf(round) })),
    { a: HYBRID_A, limit: TOP },
    await Promise.all(
      CONDITIONS.map(async (_, round) => {
        const { rows } = await topByBoth(round);
        return rows.map(({ key, value }) => ({ id: key.id, value }));
      }),
    ),
  );
  return [
    ...[false, true].map((exact) => ({
      name: `top ${TOP} by similarity${exact ? ", exact" : ""}`,
      own: (round: number) => best(similarity, round, exact),
      byHand: (round: number) => byHand.similarity(vectorOf(round), { limit: TOP, exact }),
    })),
    {
      name: `top ${TOP} by terms`,
      own: (round) => best(byTerms, round, true),
      byHand: async (round) => byHand.lexical(await weighed(byHand, textOf(round)), TOP),
    },
    {
      name: `top ${TOP} by both`,
      ...(broad !== undefined && { note: broad }),
      own: async (round) => (await topByBoth(round)).rows.length,
      byHand: async (round) => {
        const query = { vector: vectorOf(round), terms: await weighed(byHand, textOf(round)) };
        return byHand.hybrid(query, { a: HYBRID_A, limit: TOP });
      },
    },
    {
      name: `cosines of ${named.length}`,
      own: async (round) => (await sources.vectors.scores("", vectorOf(round), named)).length,
      byHand: (round) => byHand.cosines(vectorOf(round)),
    },
    {
      name: `terms of ${named.length}`,
      own: async (round) => (await sources.lexical.scores("", termsOf(round), named)).length,
      byHand: (round) => byHand.termWeights(termsOf(round)),
    },
  ];
}

/** As a query does: the weights of a condition's terms depend on what the memory has now. */
async function weighed(byHand: SearchByHand, text: string): Promise<QueryTermWeights> {
  const terms = queryTerms(text);
  return queryTermWeights(terms, await byHand.statistics(terms));
}

/** The stores as the scorers of queries see them that read a memory at one revision, once it is known that no vector is missing. */
function boundTo(
  stores: SearchStores,
  { scope, revision }: GrownTree,
): { readonly vectors: VectorScores; readonly lexical: LexicalScores } {
  const model = BENCH_MODEL.id;
  const view = {};
  return {
    vectors: {
      scores: (field, vector, states) => stores.vectors.scores(scope, { revision, model, field, view }, vector, states),
      topK: (field, vector, filter, options) =>
        stores.vectors.topK(scope, { revision, model, field, view }, vector, filter, options),
      hybridTopK: async (field, condition, filter, options) =>
        stores.vectors.hybridTopK?.(scope, { revision, model, field, view }, condition, filter, options),
      missing: async () => [],
      keep: async () => undefined,
    },
    lexical: {
      statistics: (field, terms) => stores.lexical.statistics(scope, { field, view }, terms),
      scores: (field, terms, states) => stores.lexical.scores(scope, { revision, field, view }, terms, states),
      matches: (field, terms, filter, options) =>
        stores.lexical.matches(scope, { revision, field, view }, terms, filter, options),
    },
  };
}
