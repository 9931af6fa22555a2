/**
 * The vector side of `similarity` and `hybrid`: embeds the condition once and makes sure that the store holds every vector
 * it is asked about, so that a query never misses a node because its vector is late. Missing vectors are computed, kept and
 * then scored by the store like all others, so that the next query gives the same values to the last bit. A text that the
 * model refuses has no vector: its node is 0, and told.
 */
import { EspalierError, LIMITS, type NodeFilter } from "#core";
import type { Embedding, HybridCondition, Ranking, ScoredKey, StateRef } from "../ports.js";
import type { ScorerRun, SimilaritySources } from "./scorer.js";
import type { TraceBuilder } from "./trace-builder.js";
import { present } from "../present.js";
import { stateKey } from "../state-key.js";
import { isRefusedText } from "../refused-text.js";

/** A state with the text of the field. */
type Missing = StateRef & { readonly text: string };

export class Cosines {
  readonly #sources: SimilaritySources;
  readonly #run: ScorerRun;
  readonly #trace: TraceBuilder;
  readonly #field: string;
  readonly #vector: Float32Array;

  private constructor(of: {
    sources: SimilaritySources;
    run: ScorerRun;
    trace: TraceBuilder;
    field: string;
    vector: Float32Array;
  }) {
    this.#sources = of.sources;
    this.#run = of.run;
    this.#trace = of.trace;
    this.#field = of.field;
    this.#vector = of.vector;
  }

  /** Embeds the condition, which must not be empty. */
  static async open(
    condition: { readonly field: string; readonly text: string },
    sources: SimilaritySources,
    run: ScorerRun,
    trace: TraceBuilder,
  ): Promise<Cosines> {
    const { field, text } = condition;
    const { signal } = run;
    const asked = await sources.embedder.embed([text], { signal, urgent: true, cache: sources.embeddingCache });
    trace.asked(asked);
    const vector = present(asked.embeddings[0]).vector;
    return new Cosines({ sources, run, trace, field, vector });
  }

  /**
   * max(0, cosine) per state, in order; 0 where the field is missing or empty. One store call when no vector is missing;
   * what is unknown is asked for again even when nothing was left to compute, for another condition of the query, or a
   * worker, may have stored it in between.
   */
  async of(states: readonly StateRef[]): Promise<Float64Array> {
    if (states.length === 0) return new Float64Array();
    const { vectors } = this.#sources;
    const cosines = await vectors.scores(this.#field, this.#vector, states);
    const unknown = [...states.keys()].filter((index) => Number.isNaN(cosines[index]));
    if (unknown.length > 0) {
      const named = unknown.map((index) => present(states[index]));
      await this.#complete({ states: named });
      const later = await vectors.scores(this.#field, this.#vector, named);
      for (const [position, index] of unknown.entries()) cosines[index] = later[position] ?? Number.NaN;
    }
    return cosines.map((cosine) => (cosine > 0 ? cosine : 0));
  }

  /** The nearest nodes of the filter, by rounded value descending, then path key; zeros left out. */
  async nearest(filter: NodeFilter, options: { limit: number; exact: boolean }): Promise<Ranking> {
    const found = await this.#sources.vectors.topK(this.#field, this.#vector, filter, options);
    this.#trace.approximated(found.approximate);
    return found;
  }

  /** The best by both sides, where the store ranks by them at once. */
  async hybrid(
    condition: Omit<HybridCondition, "vector">,
    filter: NodeFilter,
    options: { limit: number; exact: boolean },
  ): Promise<readonly ScoredKey[] | undefined> {
    const { vectors } = this.#sources;
    const found = await vectors.hybridTopK?.(this.#field, { ...condition, vector: this.#vector }, filter, options);
    this.#trace.approximated(found?.approximate === true);
    return found?.rows;
  }

  /** Computes and keeps the vectors that the filter's nodes lack. */
  async complete(filter: NodeFilter): Promise<void> {
    await this.#complete({ filter });
  }

  /** Ends also when the store drops what it is given (a memory that is being deleted). */
  async #complete(of: { filter: NodeFilter } | { states: readonly StateRef[] }): Promise<void> {
    const { vectors } = this.#sources;
    const done = new Set<string>();
    let kept = 0;
    for (;;) {
      // The store goes on to name those that were refused.
      const limit = LIMITS.cacheKeys + 2 * (done.size - kept);
      const page = await vectors.missing(this.#field, of, limit);
      const missing = page.filter((state) => !done.has(stateKey(state)));
      if (missing.length === 0) return;
      const embedded = await this.#compute(missing, done.size);
      if (embedded.length > 0) await vectors.keep(this.#field, embedded);
      kept += embedded.length;
      for (const state of missing) done.add(stateKey(state));
      if (page.length < limit) return;
    }
  }

  /** Those of the states whose texts can be embedded, with their vectors. */
  async #compute(
    missing: readonly Missing[],
    before: number,
  ): Promise<readonly (StateRef & { readonly embedding: Embedding })[]> {
    const texts = missing.map(({ text }) => text);
    const asked = await this.#sources.embedder.embedEach(texts, {
      signal: this.#run.signal,
      cache: this.#sources.embeddingCache,
      onProgress: (done, total) => this.#run.onProgress?.(before + done, before + total),
    });
    this.#trace.asked(asked);
    const refused: StateRef[] = [];
    const embedded = missing.flatMap(({ id, born }, index) => {
      const outcome = present(asked.outcomes[index]);
      if (!(outcome instanceof EspalierError)) return { id, born, embedding: outcome };
      if (!isRefusedText(outcome)) throw outcome;
      refused.push({ id, born });
      return [];
    });
    this.#trace.computed(embedded.map(({ embedding }) => embedding));
    this.#trace.refused(refused);
    if (refused.length > 0) this.#run.onRefused?.(this.#field, refused);
    return embedded;
  }
}
