/**
 * Rel = a * similarity + (1 - a) * lexical, of values that are rounded as the searches round them, and its exact top k without
 * scoring every node:
 *
 *  1. V: more than k nodes nearest by cosine. No node outside V has a cosine over c, V's last (0 if V is all there is).
 *     L: some times k nodes best by their terms alone. No node outside L has a lexical value over l, L's last (0 if L is all).
 *  2. Of a node in one of the two its other value is at most c or l: those that could not reach what the k-th best node surely
 *     has are passed over, of the others the other value is read.
 *  3. t: the k-th best hybrid value so far (0 if there are fewer). A node outside V can enter only with a value
 *     of t or more, so its lexical value is at least (t - a * c) / (1 - a). Where that is l or more, L has them all; where
 *     it is less, the lexical index gives exactly those nodes.
 *  4. All of them are sorted and cut.
 *
 * A store that has both sides beside each other can do it in one search.
 *
 * Rounding: the bounds are loosened by a few 1e-6. What is left is a node outside
 * V without any of the terms, whose value is at most a * c. V is larger than k and L is there so that t lies over that; when it does
 * not (many nodes with the same text) V is taken four times as large until it does, or is everything.
 */
import { type NodeFilter, type NodeKey, roundRelevance } from "#core";
import type { ScoredKey } from "../ports.js";
import { Cosines } from "./cosines.js";
import { LexicalScorer, type WeighedTerms, weighCondition } from "./lexical.js";
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
/** How many times as many rows by their terms: they cost little, and are mostly all that terms can lift. */
const MORE_BY_TERMS = 4;

export interface HybridSources extends SimilaritySources, LexicalSources {
  /** Share of similarity, in [0, 1]. At 0 no model is asked, at 1 no postings are read. */
  readonly a: number;
}

/** What a condition is worth on either side, to a node of which both are known or only one is. */
interface Sides {
  readonly similarity: number;
  readonly lexical: number;
}

type KnownSides = { readonly key: NodeKey } & Partial<Sides>;

/** One condition: how nodes are scored by it. */
interface Opened {
  readonly cosines: Cosines;
  /** Absent: the condition has none. */
  readonly weighed: WeighedTerms | undefined;
  readonly field: string;
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
    const opened = await this.#open(request, trace);
    const [similarities, lexicals] = await Promise.all([
      similaritiesOf(opened, candidates),
      this.#lexicalsOf(opened, candidates),
    ]);
    const values = similarities.map((similarity, index) => this.#value({ similarity, lexical: lexicals[index] ?? 0 }));
    return { values, trace: trace.done() };
  }

  async topK(request: TopKRequest): Promise<{ rows: readonly ScoredKey[]; trace: ScorerTrace }> {
    if (this.#pure !== undefined) return this.#pure.topK(request);
    const trace = new TraceBuilder(this.#run.now);
    if (request.text === "") return { rows: [], trace: trace.done() };
    const opened = await this.#open(request, trace);
    await opened.cosines.complete(request.filter);
    const rows = (await this.#atOnce(opened, request)) ?? (await this.#search(opened, request));
    return { rows, trace: trace.done() };
  }

  async #open(condition: { readonly field: string; readonly text: string }, trace: TraceBuilder): Promise<Opened> {
    const [cosines, weighed] = await Promise.all([
      Cosines.open(condition, this.#sources, this.#run, trace),
      weighCondition(condition, this.#sources.lexical),
    ]);
    return { cosines, weighed, field: condition.field };
  }

  #value({ similarity, lexical }: Sides): number {
    const { a } = this.#sources;
    return roundRelevance(a * similarity + (1 - a) * lexical);
  }

  /** One store call, in stores that know it. */
  async #atOnce({ cosines, weighed }: Opened, request: TopKRequest): Promise<readonly ScoredKey[] | undefined> {
    if (weighed === undefined) return undefined;
    const { weights: terms, ...counted } = weighed;
    return cosines.hybrid({ terms, ...counted, a: this.#sources.a }, request.filter, request);
  }

  /** Two rounds of store calls, each of two at once, and mostly none of `#outside`. */
  async #search(opened: Opened, request: TopKRequest): Promise<readonly ScoredKey[]> {
    const { limit, filter, exact } = request;
    const more = limit + Math.max(EXTRA_ROWS, limit >> 2);
    const matching = this.#bestByTerms(opened, filter, MORE_BY_TERMS * more);
    for (let wanted = more; ; wanted *= 4) {
      // Neither needs the other: stores that are servers are asked for both at once.
      const [best, nearest] = await Promise.all([matching, opened.cosines.nearest(filter, { limit: wanted, exact })]);
      const everything = nearest.rows.length < wanted;
      const farthest = lastOf(nearest.rows, wanted);
      const lifting = lastOf(best, MORE_BY_TERMS * more);
      // An approximate search can have missed a node that is nearer than its last.
      const most = { similarity: nearest.approximate ? 1 : farthest, lexical: lifting };
      const ranked = await this.#ranked(opened, united(nearest.rows, best), { most, limit });
      const threshold = ranked[limit - 1]?.value ?? 0;
      if (!everything && threshold <= this.#sources.a * farthest + ROUNDING_SLACK) continue;
      const others = await this.#outside(opened, filter, {
        inside: [...nearest.rows, ...best],
        threshold,
        farthest,
        lifting,
      });
      const lifted = await this.#ranked(opened, others, { most: { similarity: 1, lexical: 1 }, limit });
      return [...ranked, ...lifted].sort(byRank).slice(0, limit);
    }
  }

  /** L raises the threshold, so that one vector search is nearly always enough, and is mostly all that terms can lift. */
  async #bestByTerms({ weighed, field }: Opened, filter: NodeFilter, limit: number): Promise<readonly ScoredKey[]> {
    if (weighed === undefined) return [];
    return this.#sources.lexical.matches(field, weighed.weights, filter, { above: 0, limit });
  }

  /** The nodes that can be among the first `limit`, in rank order. `most` is what a side that is not known can be worth. */
  async #ranked(
    opened: Opened,
    nodes: readonly KnownSides[],
    { most, limit }: { readonly most: Sides; readonly limit: number },
  ): Promise<readonly ScoredKey[]> {
    const surely = nodes
      .map((node) => this.#value({ similarity: 0, lexical: 0, ...node }))
      .sort((one, other) => other - one);
    const floor = (surely[limit - 1] ?? 0) - ROUNDING_SLACK;
    const able = nodes.filter((node) => this.#value({ ...most, ...node }) >= floor);
    const known = await this.#completed(opened, able, most);
    return known
      .map(({ key, ...sides }) => ({ key, value: this.#value(sides) }))
      .filter(({ value }) => value > 0)
      .sort(byRank);
  }

  /** Reads the sides that are not known, but where they cannot be worth anything. Two store calls at once, at most. */
  async #completed(
    opened: Opened,
    nodes: readonly KnownSides[],
    most: Sides,
  ): Promise<readonly ({ readonly key: NodeKey } & Sides)[]> {
    const missing = (side: keyof Sides): readonly NodeKey[] =>
      most[side] === 0 ? [] : nodes.flatMap((node) => (node[side] === undefined ? [node.key] : []));
    const [unlike, unworded] = [missing("similarity"), missing("lexical")];
    const [similarities, lexicals] = await Promise.all([
      similaritiesOf(opened, unlike),
      this.#lexicalsOf(opened, unworded),
    ]);
    const read = { similarity: valuesOf(unlike, similarities), lexical: valuesOf(unworded, lexicals) };
    return nodes.map(({ key, similarity, lexical }) => ({
      key,
      similarity: similarity ?? read.similarity.get(key.id) ?? 0,
      lexical: lexical ?? read.lexical.get(key.id) ?? 0,
    }));
  }

  /** The nodes outside V and L that their terms can lift into the first k; `lifting` is the most that one outside L has of them. */
  async #outside(
    { weighed, field }: Opened,
    filter: NodeFilter,
    found: {
      readonly inside: readonly ScoredKey[];
      readonly threshold: number;
      readonly farthest: number;
      readonly lifting: number;
    },
  ): Promise<readonly KnownSides[]> {
    const { a, lexical } = this.#sources;
    const bound = (found.threshold - a * found.farthest - ROUNDING_SLACK) / (1 - a) - ROUNDING_SLACK;
    const above = Math.max(0, bound);
    if (weighed === undefined || found.lifting <= above) return [];
    const inside = new Set(found.inside.map(({ key }) => key.id));
    const matches = await lexical.matches(field, weighed.weights, filter, { above });
    return matches
      .filter(({ key }) => !inside.has(key.id))
      .map(({ key, value }) => ({ key, lexical: roundRelevance(value) }));
  }

  async #lexicalsOf({ weighed, field }: Opened, nodes: readonly Candidate[]): Promise<Float64Array> {
    if (weighed === undefined || nodes.length === 0) return new Float64Array(nodes.length);
    return (await this.#sources.lexical.scores(field, weighed.weights, nodes)).map(roundRelevance);
  }
}

async function similaritiesOf({ cosines }: Opened, nodes: readonly Candidate[]): Promise<Float64Array> {
  return (await cosines.of(nodes)).map(roundRelevance);
}

const valuesOf = (keys: readonly NodeKey[], values: Float64Array): ReadonlyMap<string, number> =>
  new Map(keys.map(({ id }, index) => [id, values[index] ?? 0]));

/** The value of the last of so many rows; 0 if there are fewer, which are all. */
const lastOf = (rows: readonly ScoredKey[], asked: number): number =>
  rows.length < asked ? 0 : (rows[asked - 1]?.value ?? 0);

/** The nodes of both, each once, with what is known of them. */
function united(nearest: readonly ScoredKey[], best: readonly ScoredKey[]): readonly KnownSides[] {
  const nodes = new Map<string, KnownSides>(
    nearest.map(({ key, value }) => [key.id, { key, similarity: roundRelevance(value) }]),
  );
  for (const { key, value } of best) nodes.set(key.id, { key, ...nodes.get(key.id), lexical: roundRelevance(value) });
  return [...nodes.values()];
}

/** By value descending, then document order. */
const byRank = (left: ScoredKey, right: ScoredKey): number =>
  right.value - left.value || (left.key.pathKey < right.key.pathKey ? -1 : 1);
