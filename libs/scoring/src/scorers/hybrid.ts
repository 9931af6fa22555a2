/**
 * Rel = a * similarity + (1 - a) * lexical, and its exact top k without scoring every node:
 *
 *  1. V: more than k nodes nearest by cosine. No node outside V has a cosine over c, V's last (0 if V is all there is).
 *     L: more than k nodes best by their terms alone. No node outside L has a lexical value over l, L's last (0 if L is all).
 *  2. t: the k-th best hybrid value within V and L (0 if they have fewer). A node outside V can enter only with a value
 *     of t or more, so its lexical value is at least (t - a * c) / (1 - a). Where that is l or more, L has them all; where
 *     it is less, the lexical index gives exactly those nodes.
 *  3. All of them are scored like any candidate, sorted and cut.
 *
 * Rounding: a rounded value is off by 5e-7 at most, so the bounds are loosened by a few 1e-6. What is left is a node outside
 * V without any of the terms, whose value is at most a * c. V is larger than k and L is there so that t lies over that; when it does
 * not (many nodes with the same text) V is taken four times as large until it does, or is everything.
 */
import { roundRelevance, type NodeKey } from "#core";
import type { QueryTermWeights, ScoredKey } from "../ports.js";
import { Cosines } from "./cosines.js";
import { LexicalScorer, weighCondition } from "./lexical.js";
import type {
  Candidate,
  LexicalSources,
  RelevanceRequest,
  Scorer,
  ScorerRun,
  ScorerTrace,
  SimilaritySources,
  TopKRequest,
} from "./scorer.js";
import { SimilarityScorer } from "./similarity.js";
import { TraceBuilder } from "./trace-builder.js";

/** More than the rounding of two values and of their sum can add up to. */
const ROUNDING_SLACK = 2e-6;
/** How many more than k either search is asked for, at least. */
const EXTRA_ROWS = 16;

export interface HybridSources extends SimilaritySources, LexicalSources {
  /** Share of similarity, in [0, 1]. At 0 no model is asked, at 1 no postings are read. */
  readonly a: number;
}

type Valued = (candidates: readonly Candidate[]) => Promise<Float64Array>;

interface Search {
  readonly request: TopKRequest;
  readonly cosines: Cosines;
  readonly terms: QueryTermWeights;
  readonly valued: Valued;
}

export class HybridScorer implements Scorer {
  readonly pushesDown = true;
  readonly #sources: HybridSources;
  readonly #run: ScorerRun;
  /** The scorer that this one is when one side has no say. */
  readonly #pure: Scorer | undefined;

  constructor(sources: HybridSources, run: ScorerRun) {
    this.#sources = sources;
    this.#run = run;
    if (sources.a === 0) this.#pure = new LexicalScorer(sources, run);
    if (sources.a === 1) this.#pure = new SimilarityScorer(sources, run);
  }

  async relevance(request: RelevanceRequest): Promise<{ values: Float64Array; trace: ScorerTrace }> {
    if (this.#pure !== undefined) return this.#pure.relevance(request);
    const trace = new TraceBuilder(this.#run.now);
    const { candidates, text } = request;
    if (text === "" || candidates.length === 0) {
      return { values: new Float64Array(candidates.length), trace: trace.done() };
    }
    const { valued } = await this.#open(request, trace);
    return { values: await valued(candidates), trace: trace.done() };
  }

  async topK(request: TopKRequest): Promise<{ rows: readonly ScoredKey[]; trace: ScorerTrace }> {
    if (this.#pure !== undefined) return this.#pure.topK(request);
    const trace = new TraceBuilder(this.#run.now);
    if (request.text === "") return { rows: [], trace: trace.done() };
    const { cosines, terms, valued } = await this.#open(request, trace);
    await cosines.complete(request.filter);
    const rows = await this.#search({ request, cosines, terms: terms ?? new Map(), valued });
    return { rows, trace: trace.done() };
  }

  async #open(
    condition: { readonly field: string; readonly text: string },
    trace: TraceBuilder,
  ): Promise<{ cosines: Cosines; terms: QueryTermWeights | undefined; valued: Valued }> {
    const { a, lexical } = this.#sources;
    const [cosines, terms] = await Promise.all([
      Cosines.open(condition, this.#sources, this.#run, trace),
      weighCondition(condition, lexical),
    ]);
    const valued: Valued = async (candidates) => {
      const [similarities, lexicals] = await Promise.all([
        cosines.of(candidates),
        terms === undefined || candidates.length === 0
          ? new Float64Array(candidates.length)
          : lexical.scores(condition.field, terms, candidates),
      ]);
      return similarities.map((similarity, index) => roundRelevance(a * similarity + (1 - a) * (lexicals[index] ?? 0)));
    };
    return { cosines, terms, valued };
  }

  /** Three rounds of store calls, each of two at once: best by either side, their values, and mostly none of `#outside`. */
  async #search(search: Search): Promise<readonly ScoredKey[]> {
    const { request, cosines, valued } = search;
    const { limit, filter, exact } = request;
    const more = limit + Math.max(EXTRA_ROWS, limit >> 2);
    const matching = this.#bestByTerms(search, more);
    for (let wanted = more; ; wanted *= 4) {
      // Neither needs the other: stores that are servers are asked for both at once.
      const [best, nearest] = await Promise.all([matching, cosines.nearest(filter, { limit: wanted, exact })]);
      const everything = nearest.length < wanted;
      const farthest = everything ? 0 : (nearest.at(-1)?.value ?? 0);
      const keys = united(nearest, best);
      const ranked = rank(keys, await valued(keys));
      const threshold = ranked[limit - 1]?.value ?? 0;
      if (!everything && threshold <= this.#sources.a * farthest + ROUNDING_SLACK) continue;
      const others = await this.#outside(search, { ranked, threshold, farthest, lifting: lastOf(best, more) });
      return merge(ranked, rank(others, await valued(others))).slice(0, limit);
    }
  }

  /** L raises the threshold, so that one vector search is nearly always enough, and is mostly all that terms can lift. */
  async #bestByTerms({ request, terms }: Search, limit: number): Promise<readonly ScoredKey[]> {
    if (terms.size === 0) return [];
    const { field, filter } = request;
    return this.#sources.lexical.matches(field, terms, filter, { above: 0, limit });
  }

  /** The nodes outside V and L that their terms can lift into the first k; `lifting` is the most that one outside L has of them. */
  async #outside(
    { request, terms }: Search,
    found: {
      readonly ranked: readonly ScoredKey[];
      readonly threshold: number;
      readonly farthest: number;
      readonly lifting: number;
    },
  ): Promise<readonly NodeKey[]> {
    const { a, lexical } = this.#sources;
    const bound = (found.threshold - a * found.farthest - ROUNDING_SLACK) / (1 - a) - ROUNDING_SLACK;
    const above = Math.max(0, bound);
    if (found.lifting <= above) return [];
    const inside = new Set(found.ranked.map(({ key }) => key.id));
    const matches = await lexical.matches(request.field, terms, request.filter, { above });
    return matches.map(({ key }) => key).filter(({ id }) => !inside.has(id));
  }
}

/** The value of the last of so many rows; 0 if there are fewer, which are all. */
const lastOf = (rows: readonly ScoredKey[], asked: number): number =>
  rows.length < asked ? 0 : (rows[asked - 1]?.value ?? 0);

/** The keys of both, each once. */
function united(left: readonly ScoredKey[], right: readonly ScoredKey[]): readonly NodeKey[] {
  return [...new Map([...left, ...right].map(({ key }) => [key.id, key])).values()];
}

/** By value descending, then document order. */
const byRank = (left: ScoredKey, right: ScoredKey): number =>
  right.value - left.value || (left.key.pathKey < right.key.pathKey ? -1 : 1);

/** Keys with their values in rank order, zeros left out. */
function rank(keys: readonly NodeKey[], values: Float64Array): readonly ScoredKey[] {
  return keys
    .map((key, index) => ({ key, value: values[index] ?? 0 }))
    .filter(({ value }) => value > 0)
    .sort(byRank);
}

const merge = (left: readonly ScoredKey[], right: readonly ScoredKey[]): readonly ScoredKey[] =>
  [...left, ...right].sort(byRank);
