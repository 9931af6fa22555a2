import { roundRelevance } from "#core";
import type { LexicalScores, QueryTermWeights, ScoredKey } from "../ports.js";
import { queryTerms, queryTermWeights } from "../text/term-weights.js";
import type { LexicalSources, RelevanceRequest, Scorer, ScorerRun, ScorerTrace, TopKRequest } from "./scorer.js";
import { TraceBuilder } from "./trace-builder.js";

/** The terms of a condition. */
export interface WeighedTerms {
  /** Their factors under the memory's statistics. */
  readonly weights: QueryTermWeights;
  /** Documents that have one of them, at most. */
  readonly matches: number;
  /** As LexicalStatistics.revision. */
  readonly counted: number | undefined;
}

/** Undefined if it has no terms. One store call. */
export async function weighCondition(
  condition: { readonly field: string; readonly text: string },
  lexical: LexicalScores,
): Promise<WeighedTerms | undefined> {
  const terms = queryTerms(condition.text);
  if (terms.length === 0) return undefined;
  const statistics = await lexical.statistics(condition.field, terms);
  const matches = [...statistics.frequencies.values()].reduce((sum, frequency) => sum + frequency, 0);
  return { weights: queryTermWeights(terms, statistics), matches, counted: statistics.revision };
}

/** Rel = BM25 with a fixed reference length, over the sum that no document can reach. */
export class LexicalScorer implements Scorer {
  readonly pushesDown = true;
  readonly #lexical: LexicalScores;
  readonly #run: ScorerRun;

  constructor({ lexical }: LexicalSources, run: ScorerRun) {
    this.#lexical = lexical;
    this.#run = run;
  }

  async relevance(request: RelevanceRequest): Promise<{ values: Float64Array; trace: ScorerTrace }> {
    const trace = new TraceBuilder(this.#run.now);
    const { field, candidates } = request;
    const terms = candidates.length === 0 ? undefined : await weighCondition(request, this.#lexical);
    if (terms === undefined) return { values: new Float64Array(candidates.length), trace: trace.done() };
    const values = await this.#lexical.scores(field, terms.weights, candidates);
    return { values: values.map(roundRelevance), trace: trace.done() };
  }

  async topK(request: TopKRequest): Promise<{ rows: readonly ScoredKey[]; trace: ScorerTrace }> {
    const trace = new TraceBuilder(this.#run.now);
    const { field, filter, limit } = request;
    const terms = await weighCondition(request, this.#lexical);
    if (terms === undefined) return { rows: [], trace: trace.done() };
    const matches = await this.#lexical.matches(field, terms.weights, filter, { above: 0, limit });
    const rows = matches.map(({ key, value }) => ({ key, value: roundRelevance(value) }));
    return { rows: rows.filter(({ value }) => value > 0), trace: trace.done() };
  }
}
