import { EspalierError, roundRelevance } from "#core";
import type { EntailmentSources, RelevanceRequest, Scorer, ScorerRun, ScorerTrace } from "./scorer.js";
import { TraceBuilder } from "./trace-builder.js";

/** Rel = P(entail) / (P(entail) + P(contradict)) for premise = the field's text, hypothesis = the template with the condition. */
export class EntailmentScorer implements Scorer {
  readonly pushesDown = false;
  readonly #sources: EntailmentSources;
  readonly #run: ScorerRun;

  constructor(sources: EntailmentSources, run: ScorerRun) {
    this.#sources = sources;
    this.#run = run;
  }

  async relevance(request: RelevanceRequest): Promise<{ values: Float64Array; trace: ScorerTrace }> {
    const trace = new TraceBuilder(this.#run.now);
    const { field, text, candidates } = request;
    const values = new Float64Array(candidates.length);
    if (text === "" || candidates.length === 0) return { values, trace: trace.done() };
    const texts = await this.#sources.texts.texts(field, candidates);
    const scored = [...candidates.keys()].filter((index) => (texts[index] ?? "") !== "");
    const { entailer, template, entailmentCache } = this.#sources;
    const asked = await entailer.entail(
      scored.map((index) => texts[index] ?? ""),
      text,
      { template, cache: entailmentCache, urgent: true, signal: this.#run.signal, onProgress: this.#run.onProgress },
    );
    trace.asked(asked);
    for (const [position, index] of scored.entries()) values[index] = roundRelevance(asked.values[position] ?? 0);
    return { values, trace: trace.done() };
  }

  /** @throws always: only a model call tells a premise's value, so there is nothing to search by. */
  topK(): Promise<never> {
    return Promise.reject(new EspalierError("internal", "The scorer `entailment` has no index to take the best from."));
  }
}
