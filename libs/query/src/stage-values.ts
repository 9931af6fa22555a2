/**
 * The arithmetic of a stage: relevances of many nodes at once, as plain loops over typed arrays. Knows nothing of stores
 * and scorers; everything it reads has been fetched.
 */
import type { Fold } from "./ast.js";
import { holds } from "./compare.js";
import { nodesAt, type EvidenceSet } from "./evidence-set.js";
import { foldValues } from "./fold-values.js";
import type { LocalValues } from "./local-values.js";
import type { NodeTable } from "./node-table.js";
import type { PlannedAggregate, Scored } from "./plan.js";

/** The evidence of an aggregate, grouped by the rank of its context. */
interface EvidenceValues {
  readonly offsets: Int32Array;
  readonly nodes: Int32Array;
  readonly values: Float64Array;
}

/** Values of one stage's relevances. */
export class StageValues {
  readonly #evidence = new Map<PlannedAggregate, EvidenceValues>();
  readonly #folded = new Map<PlannedAggregate, Float64Array>();

  constructor(
    private readonly table: NodeTable,
    private readonly locals: LocalValues,
    /** By level. */
    private readonly sets: readonly EvidenceSet[],
  ) {}

  /** Rel(u, P) of each node, by its index. */
  relevance(scored: Scored, nodes: Int32Array): Float64Array {
    switch (scored.kind) {
      case "local": {
        const values = this.locals.of(scored.local, this.table.size);
        return mapNodes(nodes, (node) => values[node] ?? 0);
      }
      case "comparison":
        return mapNodes(nodes, (node) => (holds(scored.comparison, this.table.row(node)) ? 1 : 0));
      case "complement":
        return this.relevance(scored.operand, nodes).map((value) => 1 - value);
      case "product":
        return this.weigh(scored.terms, nodes, new Float64Array(nodes.length).fill(1));
      case "combine":
        return this.#combine(scored.fold, scored.terms, nodes);
      case "aggregate": {
        const folded = this.#foldOf(scored.aggregate);
        const ranks = this.sets[scored.aggregate.level]?.ranks;
        return mapNodes(nodes, (node) => folded[ranks?.[node] ?? -1] ?? 0);
      }
    }
  }

  /** Each node's weight times its relevances, from left to right. */
  weigh(terms: readonly Scored[], nodes: Int32Array, weights: Float64Array): Float64Array {
    const weighed = weights.slice();
    for (const term of terms) {
      const values = this.relevance(term, nodes);
      for (let at = 0; at < weighed.length; at++) weighed[at] = (weighed[at] ?? 0) * (values[at] ?? 0);
    }
    return weighed;
  }

  /** The evidence that an aggregate found for a context node, in document order. */
  evidence(aggregate: PlannedAggregate, context: number): readonly { readonly node: number; readonly value: number }[] {
    const rank = this.sets[aggregate.level]?.ranks[context] ?? -1;
    if (rank < 0) return [];
    const { offsets, nodes, values } = this.#evidenceOf(aggregate);
    const found: { node: number; value: number }[] = [];
    for (let at = offsets[rank] ?? 0; at < (offsets[rank + 1] ?? 0); at++) {
      found.push({ node: nodes[at] ?? 0, value: values[at] ?? 0 });
    }
    return found;
  }

  #combine(fold: Fold, terms: readonly Scored[], nodes: Int32Array): Float64Array {
    const columns = terms.map((term) => this.relevance(term, nodes));
    const row = new Float64Array(columns.length);
    return mapNodes(nodes, (_, at) => {
      columns.forEach((column, term) => (row[term] = column[at] ?? 0));
      return foldValues(fold, row);
    });
  }

  #foldOf(aggregate: PlannedAggregate): Float64Array {
    const known = this.#folded.get(aggregate);
    if (known !== undefined) return known;
    const { offsets, values } = this.#evidenceOf(aggregate);
    const folded = new Float64Array(offsets.length - 1);
    for (let rank = 0; rank < folded.length; rank++) {
      folded[rank] = foldValues(aggregate.fold, values.subarray(offsets[rank], offsets[rank + 1]));
    }
    this.#folded.set(aggregate, folded);
    return folded;
  }

  #evidenceOf(aggregate: PlannedAggregate): EvidenceValues {
    const known = this.#evidence.get(aggregate);
    if (known !== undefined) return known;
    const chains = this.sets[aggregate.level]?.chains[aggregate.slot];
    if (chains === undefined) throw new Error("the evidence of every aggregate is fetched before it is folded");
    const { offsets, nodes, links } = chains;
    const products = new Float64Array(nodes.length / links).fill(1);
    aggregate.links.forEach((scored, link) => {
      if (scored.length === 0) return;
      const distinct = nodesAt(chains, link, this.table.size);
      const byNode = new Float64Array(this.table.size);
      for (const predicate of scored) {
        const values = this.relevance(predicate, distinct);
        distinct.forEach((node, at) => (byNode[node] = values[at] ?? 0));
        for (let at = 0; at < products.length; at++) {
          products[at] = (products[at] ?? 0) * (byNode[nodes[at * links + link] ?? 0] ?? 0);
        }
      }
    });
    // Chains of one link are distinct; longer ones may end in the same node, which keeps its largest value.
    const values =
      links === 1 ? { offsets, nodes, values: products } : largest(offsets, nodes, links, products, this.table.size);
    this.#evidence.set(aggregate, values);
    return values;
  }
}

function largest(
  offsets: Int32Array,
  nodes: Int32Array,
  links: number,
  products: Float64Array,
  size: number,
): EvidenceValues {
  const kept = { offsets: new Int32Array(offsets.length), nodes: new Int32Array(products.length) };
  const values = new Float64Array(products.length);
  const places = new Int32Array(size).fill(-1);
  let count = 0;
  for (let rank = 0; rank + 1 < offsets.length; rank++) {
    const start = count;
    for (let chain = offsets[rank] ?? 0; chain < (offsets[rank + 1] ?? 0); chain++) {
      const node = nodes[chain * links + links - 1] ?? 0;
      const value = products[chain] ?? 0;
      const place = places[node] ?? -1;
      if (place < start) {
        places[node] = count;
        kept.nodes[count] = node;
        values[count++] = value;
      } else if (value > (values[place] ?? 0)) {
        values[place] = value;
      }
    }
    kept.offsets[rank + 1] = count;
  }
  return { ...kept, values };
}

/** A loop: `Float64Array.from` goes through an iterator. */
function mapNodes(nodes: Int32Array, value: (node: number, at: number) => number): Float64Array {
  const values = new Float64Array(nodes.length);
  for (let at = 0; at < nodes.length; at++) values[at] = value(nodes[at] ?? 0, at);
  return values;
}
