import type { Fold } from "./ast.js";
import { holds } from "./compare.js";
import { foldValues } from "./fold-values.js";
import type { PlannedAggregate, Scored } from "./plan.js";
import type { StageScope } from "./stage-scope.js";

/** Lower and upper bound of a relevance, equal where everything it depends on is known. */
export type Interval = readonly [lower: number, upper: number];

const ONE: Interval = [1, 1];

/**
 * Bounds of relevances where some Locals are not known yet: those lie in [0, 1], and every operator of the language is
 * monotone in each operand (the complement downwards). Scalar on purpose: only costly scorers need it.
 */
export class Bounds {
  constructor(private readonly scope: StageScope) {}

  /** Bounds of the product of the stage's scored brackets for a candidate. O(its evidence). */
  of(node: number): Interval {
    return this.#product(this.scope.stage.predicates, node);
  }

  /** Adds the nodes whose value of a Local the candidate's relevance needs and nobody knows. O(its evidence). */
  collectUnknown(node: number, local: number, into: Set<number>): void {
    for (const predicate of this.scope.stage.predicates) this.#collect(predicate, node, local, into);
  }

  #collect(scored: Scored, node: number, local: number, into: Set<number>): void {
    switch (scored.kind) {
      case "product":
      case "combine":
        for (const term of scored.terms) this.#collect(term, node, local, into);
        break;
      case "complement":
        this.#collect(scored.operand, node, local, into);
        break;
      case "aggregate":
        for (const chain of this.#chains(scored.aggregate, node)) {
          scored.aggregate.links.forEach((links, at) => {
            for (const inner of links) this.#collect(inner, chain[at] ?? 0, local, into);
          });
        }
        break;
      case "local":
        if (scored.local === local && Number.isNaN(this.#value(local, node))) into.add(node);
        break;
      case "comparison":
        break;
    }
  }

  #interval(scored: Scored, node: number): Interval {
    switch (scored.kind) {
      case "local": {
        const value = this.#value(scored.local, node);
        return Number.isNaN(value) ? [0, 1] : [value, value];
      }
      case "comparison":
        return holds(scored.comparison, this.scope.table.row(node)) ? ONE : [0, 0];
      case "complement": {
        const [lower, upper] = this.#interval(scored.operand, node);
        return [1 - upper, 1 - lower];
      }
      case "product":
        return this.#product(scored.terms, node);
      case "combine":
        return foldIntervals(
          scored.fold,
          scored.terms.map((term) => this.#interval(term, node)),
        );
      case "aggregate":
        return this.#aggregate(scored.aggregate, node);
    }
  }

  #product(terms: readonly Scored[], node: number): Interval {
    let [lower, upper] = ONE;
    for (const term of terms) {
      const [low, high] = this.#interval(term, node);
      lower *= low;
      upper *= high;
    }
    return [lower, upper];
  }

  #aggregate(aggregate: PlannedAggregate, context: number): Interval {
    const byNode = new Map<number, Interval>();
    for (const chain of this.#chains(aggregate, context)) {
      let [lower, upper] = ONE;
      aggregate.links.forEach((scored, link) => {
        const [low, high] = this.#product(scored, chain[link] ?? 0);
        lower *= low;
        upper *= high;
      });
      const node = chain.at(-1) ?? 0;
      const known = byNode.get(node) ?? [0, 0];
      byNode.set(node, [Math.max(known[0], lower), Math.max(known[1], upper)]);
    }
    return foldIntervals(aggregate.fold, [...byNode.values()]);
  }

  #chains({ level, slot }: PlannedAggregate, context: number): readonly Int32Array[] {
    const set = this.scope.sets[level];
    const chains = set?.chains[slot];
    const rank = set?.ranks[context] ?? -1;
    if (chains === undefined || rank < 0) return [];
    const { offsets, nodes, links } = chains;
    const found: Int32Array[] = [];
    for (let at = offsets[rank] ?? 0; at < (offsets[rank + 1] ?? 0); at++) {
      found.push(nodes.subarray(at * links, (at + 1) * links));
    }
    return found;
  }

  #value(local: number, node: number): number {
    return this.scope.locals.of(local, this.scope.table.size)[node] ?? Number.NaN;
  }
}

function foldIntervals(fold: Fold, intervals: readonly Interval[]): Interval {
  return [
    foldValues(
      fold,
      intervals.map(([lower]) => lower),
    ),
    foldValues(
      fold,
      intervals.map(([, upper]) => upper),
    ),
  ];
}
