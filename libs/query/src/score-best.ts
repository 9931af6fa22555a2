/**
 * Scoring with a costly model (language page, "Pruning"): the last stage asks only about candidates that can still enter
 * the result. Every candidate has a lower and an upper bound of its final weight, from what is known and from [0, 1] for
 * what is not. A candidate is out when its upper bound is 0, below `minScore`, or below the lower bounds of `topK` others.
 * The most promising ones are asked about first, one Local at a time, in waves that double.
 */
import { LIMITS, roundRelevance } from "#core";
import { askLocal } from "./ask-local.js";
import { Bounds } from "./bounds.js";
import { nthLargest } from "./nth-largest.js";
import type { StageScope } from "./stage-scope.js";

/** What was asked about. */
export interface BestScored {
  /** For each candidate 1 if all its values are known now, 0 if it is out. */
  readonly known: Uint8Array;
  /** Whether a candidate is out for nothing but `topK`. */
  readonly spared: boolean;
}

/** Asks until nothing that is left can enter the result. */
export async function scoreBest(
  scope: StageScope,
  cut: { readonly topK: number; readonly minScore: number },
): Promise<BestScored> {
  return new BestScoring(scope, cut).run();
}

class BestScoring {
  readonly #bounds: Bounds;
  readonly #lower: Float64Array;
  readonly #upper: Float64Array;
  /** 1 once a candidate has no unknown value. */
  readonly #known: Uint8Array;

  constructor(
    private readonly scope: StageScope,
    private readonly cut: { readonly topK: number; readonly minScore: number },
  ) {
    const count = scope.set.nodes.length;
    this.#bounds = new Bounds(scope);
    this.#lower = new Float64Array(count);
    this.#upper = new Float64Array(count);
    this.#known = new Uint8Array(count);
  }

  async run(): Promise<BestScored> {
    this.#refresh(this.scope.set.nodes.keys());
    let size = Math.max(LIMITS.pruningWave, this.cut.topK);
    for (;;) {
      const wave = this.#next(size);
      if (wave.length === 0) return { known: this.#known, spared: this.#spares() };
      await this.#ask(wave);
      size *= 2;
    }
  }

  #spares(): boolean {
    return this.#known.some((known, at) => {
      const upper = this.#upper[at] ?? 0;
      return known === 0 && upper > 0 && upper >= this.cut.minScore;
    });
  }

  /** The most promising candidates that are not known yet. If all promise the same, there is nothing to win by waves. */
  #next(size: number): readonly number[] {
    const least = this.#least();
    const open: number[] = [];
    for (let at = 0; at < this.#known.length; at++) if (this.#known[at] === 0 && this.#enters(at, least)) open.push(at);
    if (open.length <= size) return open;
    const upper = this.#upper;
    const [first = 0] = open;
    if (open.every((at) => upper[at] === upper[first])) return open;
    return open.sort((a, b) => (upper[b] ?? 0) - (upper[a] ?? 0)).slice(0, size);
  }

  /** One Local at a time: what it says may spare the others. */
  async #ask(wave: readonly number[]): Promise<void> {
    const locals = new Set(this.scope.stage.uses.map(({ local }) => local));
    let open = wave;
    for (const local of locals) {
      const least = this.#least();
      open = open.filter((at) => this.#enters(at, least));
      const nodes = new Set<number>();
      for (const at of open) this.#bounds.collectUnknown(this.scope.set.nodes[at] ?? 0, local, nodes);
      await askLocal(this.scope, local, Int32Array.from(nodes));
      this.#refresh(open);
    }
    for (const at of open) this.#known[at] = 1;
  }

  #refresh(places: Iterable<number>): void {
    const { nodes, weights } = this.scope.set;
    for (const at of places) {
      const [lower, upper] = this.#bounds.of(nodes[at] ?? 0);
      this.#lower[at] = roundRelevance((weights[at] ?? 0) * lower);
      this.#upper[at] = roundRelevance((weights[at] ?? 0) * upper);
    }
  }

  /** What a candidate must reach: the lower bound that `topK` of them have for sure. */
  #least(): number {
    const { topK, minScore } = this.cut;
    return Math.max(nthLargest(this.#lower, topK), minScore);
  }

  /** Bounds are computed as weights are, yet in another order: a last digit of difference must not push a node out. */
  #enters(at: number, least: number): boolean {
    const upper = this.#upper[at] ?? 0;
    return upper > 0 && upper >= least - 2e-6;
  }
}
