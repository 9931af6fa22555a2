import type { AskReport } from "../caching/cached-batches.js";
import type { StateRef } from "../ports.js";
import { stateKey } from "../state-key.js";
import type { ScorerTrace } from "./scorer.js";

/** Collects what one scoring call did. */
export class TraceBuilder {
  readonly #now: () => number;
  readonly #startedAt: number;
  readonly #batchSizes: number[] = [];
  #cacheHits = 0;
  #computed = 0;
  #windowed = 0;
  readonly #refused = new Set<string>();
  #approximate = false;

  constructor(now: () => number) {
    this.#now = now;
    this.#startedAt = now();
  }

  asked(report: AskReport): void {
    this.#batchSizes.push(...report.batchSizes);
    this.#cacheHits += report.cacheHits;
  }

  /** Vectors that the store lacked. */
  computed(embeddings: readonly { readonly windowed: boolean }[]): void {
    this.#computed += embeddings.length;
    this.#windowed += embeddings.filter(({ windowed }) => windowed).length;
  }

  /** States of the scored field whose text the model refuses; each counts once. */
  refused(states: readonly StateRef[]): void {
    for (const state of states) this.#refused.add(stateKey(state));
  }

  approximated(approximate: boolean): void {
    this.#approximate ||= approximate;
  }

  done(): ScorerTrace {
    return {
      modelCalls: this.#batchSizes.length,
      batchSizes: this.#batchSizes,
      cacheHits: this.#cacheHits,
      computed: this.#computed,
      windowed: this.#windowed,
      refused: this.#refused.size,
      milliseconds: this.#now() - this.#startedAt,
      approximate: this.#approximate,
    };
  }
}
