/**
 * Evaluation (paper 000, section 3.3 and appendix A): a weighted node set begins as {(root, 1)} and is folded by the stages
 * of a plan from left to right. All waiting is for the ports, a constant number of calls per stage; everything between is
 * arithmetic over arrays.
 */
import type { NodeFilter, NodeKey } from "#core";
import { throwIfAborted } from "./aborted.js";
import { cut, type CutOptions } from "./cut.js";
import { fetchEvidence } from "./fetch-evidence.js";
import { LocalValues } from "./local-values.js";
import { NodeTable } from "./node-table.js";
import type { Plan, PushDown, Stage } from "./plan.js";
import type {
  RelevanceSource,
  RunRow,
  StructuralRun,
  StructuralStep,
  StructureSource,
  WeightedContext,
} from "./ports.js";
import { rowEvidence, type EvaluatedEvidence } from "./row-evidence.js";
import { scoreAll } from "./score-all.js";
import { scoreBest } from "./score-best.js";
import type { StageScope, WeightedSet } from "./stage-scope.js";
import { StageValues } from "./stage-values.js";
import { Tracer, type QueryTrace } from "./trace.js";

/** How a plan is evaluated. */
export interface EvaluateOptions extends CutOptions {
  /** Forbids approximate indexes; default false. */
  readonly exact?: boolean | undefined;
  /** Whether the rows carry the evidence of the last step's aggregates; default false. */
  readonly evidence?: boolean | undefined;
  /** Evidence rows of one row at most; default: all. */
  readonly evidenceLimit?: number | undefined;
  readonly trace?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** What an evaluation reads: one memory at one revision, under one scorer. */
export interface EvaluateSources {
  readonly structure: StructureSource;
  readonly relevance: RelevanceSource;
}

/** A node of the result. */
export interface EvaluatedRow {
  readonly key: NodeKey;
  /** In (0, 1], to 1e-6. */
  readonly score: number;
  /** By aggregate, then by score descending, then in document order. Empty unless asked for. */
  readonly evidence: readonly EvaluatedEvidence[];
}

/** The result of an evaluation. */
export interface Evaluation {
  /** By score descending, then in document order. */
  readonly rows: readonly EvaluatedRow[];
  /** Whether `topK` left rows out. */
  readonly more: boolean;
  /** Whether `evidenceLimit` left evidence out. */
  readonly evidenceCut: boolean;
  /** Whether an approximate index answered. */
  readonly approximate: boolean;
  readonly trace: QueryTrace | undefined;
}

/**
 * Evaluates a plan. Store calls: one per stage, one more per nesting level of its aggregates; relevance is asked once per
 * distinct Local of a stage, about nodes not asked about before. A query that `pushDown` covers is one search instead, if
 * `topK` is set and the scorer can; a scorer that cannot is costly, and is asked in the last stage only about nodes that can
 * still enter the result. Otherwise O(candidates + evidence).
 * @throws EspalierError `cancelled` (or the signal's own reason), and what the ports throw
 */
export async function evaluate(
  plan: Plan,
  sources: EvaluateSources,
  options: EvaluateOptions = {},
): Promise<Evaluation> {
  return new Evaluator(plan, sources, options).run();
}

/** The last set, and what its rows' evidence is read from. */
interface Final {
  readonly set: WeightedSet;
  readonly scored: { readonly stage: Stage; readonly values: StageValues } | undefined;
}

class Evaluator {
  readonly #locals: LocalValues;
  readonly #tracer: Tracer | undefined;
  #table = new NodeTable();
  #approximate = false;
  #pruned = false;

  constructor(
    private readonly plan: Plan,
    private readonly sources: EvaluateSources,
    private readonly options: EvaluateOptions,
  ) {
    this.#locals = new LocalValues(plan.locals.length);
    this.#tracer = options.trace === true ? new Tracer(plan.query, sources.structure) : undefined;
  }

  async run(): Promise<Evaluation> {
    const { pushDown } = this.plan;
    const { topK } = this.options;
    const searches = pushDown !== undefined && topK !== undefined && this.sources.relevance.pushesDown;
    return this.#result(searches ? await this.#search(pushDown, topK) : await this.#stages());
  }

  async #stages(): Promise<Final> {
    const keeps = this.plan.locals.some(({ shared }) => shared);
    let contexts: StructuralRun["contexts"] = "root";
    for (const [index, stage] of this.plan.stages.entries()) {
      const isLast = index === this.plan.stages.length - 1;
      const final = await this.#stage(stage, contexts, isLast);
      if (isLast || final.set.nodes.length === 0) return final;
      contexts = this.#contexts(final.set);
      // Nodes keep their index only where values are kept for them: else a stage need not hash an id.
      if (!keeps) this.#table = new NodeTable();
    }
    throw new Error("a plan has at least one stage");
  }

  #contexts({ nodes, weights }: WeightedSet): readonly WeightedContext[] {
    const contexts: WeightedContext[] = [];
    for (let at = 0; at < nodes.length; at++) {
      const { id, pathKey } = this.#table.key(nodes[at] ?? 0);
      contexts.push({ id, pathKey, weight: weights[at] ?? 0 });
    }
    return contexts;
  }

  async #stage(stage: Stage, contexts: StructuralRun["contexts"], isLast: boolean): Promise<Final> {
    const bounded = isLast && contexts === "root" && stage.predicates.length === 0;
    const rows = await this.#run(stage.firstStep, { contexts, steps: stage.steps, values: stage.values }, bounded);
    const set = { nodes: this.#table.add(rows), weights: new Float64Array(rows.length) };
    for (let at = 0; at < rows.length; at++) set.weights[at] = rows[at]?.weight ?? 0;
    if (stage.predicates.length === 0 || rows.length === 0) return { set, scored: undefined };
    return this.#score(stage, set, isLast);
  }

  /** `bounded`: all weights are 1, so document order is the result's order, and rows behind the cut need not be read. */
  async #run(firstStep: number, run: StructuralRun, bounded: boolean): Promise<readonly RunRow[]> {
    throwIfAborted(this.options.signal);
    const { topK } = this.options;
    const limited = bounded && topK !== undefined && this.#tracer === undefined ? { ...run, limit: topK + 1 } : run;
    const { rows, trace } = await this.sources.structure.run(limited);
    await this.#tracer?.ran(firstStep, run, rows, trace);
    return rows;
  }

  async #score(stage: Stage, set: WeightedSet, isLast: boolean): Promise<Final> {
    const { topK, minScore = 0, signal } = this.options;
    const { structure, relevance } = this.sources;
    const [table, locals, tracer] = [this.#table, this.#locals, this.#tracer];
    const sets = await fetchEvidence({ stage, nodes: set.nodes, table, structure, signal, tracer });
    const values = new StageValues(table, locals, sets);
    const scope: StageScope = { plan: this.plan, stage, set, table, sets, locals, relevance, signal, tracer };
    const costly = isLast && topK !== undefined && !relevance.pushesDown;
    const best = costly ? await scoreBest(scope, { topK, minScore }) : undefined;
    const known = best?.known;
    if (!costly) await scoreAll(scope);
    const weights = values.weigh(stage.predicates, set.nodes, set.weights);
    known?.forEach((isKnown, at) => {
      if (isKnown === 0) weights[at] = 0; // Out: its weight is not known, only that it is too small.
    });
    this.#pruned = best?.spared ?? false;
    tracer?.folded(stage, { nodes: set.nodes, before: set.weights, after: weights, table, values, known });
    return { set: survivors({ nodes: set.nodes, weights }), scored: { stage, values } };
  }

  /** One search for the best nodes below, or among the children of, what the unscored steps find. */
  async #search({ prefix, axis, type, field, text }: PushDown, topK: number): Promise<Final> {
    const contexts = prefix.length === 0 ? [{ id: null, pathKey: "" }] : await this.#prefix(prefix);
    if (contexts.length === 0) {
      return { set: { nodes: new Int32Array(0), weights: new Float64Array(0) }, scored: undefined };
    }
    const scope: NodeFilter["scope"] =
      axis === "descendant"
        ? { kind: "descendants", of: contexts.map(({ pathKey }) => pathKey) }
        : { kind: "children", of: contexts.map(({ id }) => id) };
    throwIfAborted(this.options.signal);
    const filter = { ...(type !== undefined && { type }), scope };
    const search = { field, text, filter, limit: topK + 1, exact: this.options.exact === true };
    const { rows, trace } = await this.sources.relevance.topK(search);
    this.#approximate = trace.approximate;
    this.#tracer?.searched({ field, text, candidates: rows.length }, rows, trace);
    // Ties are cut in document order, which the search kept; the set is in document order like every other.
    const ordered = rows.toSorted((a, b) => (a.key.pathKey < b.key.pathKey ? -1 : 1));
    const nodes = this.#table.add(ordered);
    return { set: { nodes, weights: Float64Array.from(ordered, ({ value }) => value) }, scored: undefined };
  }

  async #prefix(steps: readonly StructuralStep[]): Promise<readonly { id: string; pathKey: string }[]> {
    const rows = await this.#run(0, { contexts: "root", steps, values: false }, false);
    return rows.map(({ key }) => key);
  }

  #result({ set, scored }: Final): Evaluation {
    const { evidence: wanted = false, evidenceLimit = Number.POSITIVE_INFINITY } = this.options;
    const { places, scores, more } = cut(set.weights, this.options);
    let evidenceCut = false;
    const rows = places.map((place, at): EvaluatedRow => {
      const node = set.nodes[place] ?? 0;
      const found = wanted && scored !== undefined ? rowEvidence(scored.stage, scored.values, this.#table, node) : [];
      evidenceCut ||= found.length > evidenceLimit;
      return { key: this.#table.key(node), score: scores[at] ?? 0, evidence: found.slice(0, evidenceLimit) };
    });
    const [approximate, trace] = [this.#approximate, this.#tracer?.finish()];
    return { rows, more: more || this.#pruned, evidenceCut, approximate, trace };
  }
}

/** A node with weight 0 leaves the set. */
function survivors({ nodes, weights }: WeightedSet): WeightedSet {
  const kept = { nodes: new Int32Array(nodes.length), weights: new Float64Array(nodes.length) };
  let count = 0;
  for (let at = 0; at < nodes.length; at++) {
    const weight = weights[at] ?? 0;
    if (weight === 0) continue;
    kept.nodes[count] = nodes[at] ?? 0;
    kept.weights[count++] = weight;
  }
  return { nodes: kept.nodes.subarray(0, count), weights: kept.weights.subarray(0, count) };
}
