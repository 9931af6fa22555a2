import { roundRelevance } from "#core";
import type { ScoredKey } from "../ports.js";
import { Cosines } from "./cosines.js";
import type { RelevanceRequest, Scorer, ScorerRun, ScorerTrace, SimilaritySources, TopKRequest } from "./scorer.js";
import { TraceBuilder } from "./trace-builder.js";

/** Rel = max(0, cosine of the embeddings of field and condition). */
export class SimilarityScorer implements Scorer {
  readonly pushesDown = true;
  readonly #sources: SimilaritySources;
  readonly #run: ScorerRun;

  constructor(sources: SimilaritySources, run: ScorerRun) {
    this.#sources = sources;
    this.#run = run;
  }

  async relevance(request: RelevanceRequest): Promise<{ values: Float64Array; trace: ScorerTrace }> {
    const trace = new TraceBuilder(this.#run.now);
    if (request.text === "" || request.candidates.length === 0) {
      return { values: new Float64Array(request.candidates.length), trace: trace.done() };
    }
    const cosines = await Cosines.open(request, this.#sources, this.#run, trace);
    const values = await cosines.of(request.candidates);
    return { values: values.map(roundRelevance), trace: trace.done() };
  }

  async topK(request: TopKRequest): Promise<{ rows: readonly ScoredKey[]; trace: ScorerTrace }> {
    const trace = new TraceBuilder(this.#run.now);
    if (request.text === "") return { rows: [], trace: trace.done() };
    const cosines = await Cosines.open(request, this.#sources, this.#run, trace);
    await cosines.complete(request.filter);
    const { rows: nearest } = await cosines.nearest(request.filter, request);
    const rows = nearest.map(({ key, value }) => ({ key, value: roundRelevance(value) }));
    return { rows: rows.filter(({ value }) => value > 0), trace: trace.done() };
  }
}
