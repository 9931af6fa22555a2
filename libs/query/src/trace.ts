import { LIMITS, roundRelevance, type NodeKey } from "#core";
import type { Query } from "./ast.js";
import type { NodeTable } from "./node-table.js";
import type { Stage } from "./plan.js";
import type { RunRow, ScoringTrace, StatementTrace, StructuralRun, StructureSource } from "./ports.js";
import { printRelevance, printStep } from "./print.js";
import { rowEvidence } from "./row-evidence.js";
import type { StageValues } from "./stage-values.js";

/** What an evaluation did, step by step. Plain data; bounded by LIMITS.traceNodes per set. */
export interface QueryTrace {
  readonly steps: readonly StepTrace[];
}

/** One step of the query. */
export interface StepTrace {
  /** From 1. */
  readonly step: number;
  /** Canonical text. */
  readonly text: string;
  readonly before: SetTrace;
  readonly after: SetTrace;
  /**
   * What was sent to the store. A run of several steps is one statement, which stands at its last step; the sets in between
   * are read for the trace alone, by statements that are not listed.
   */
  readonly statements: readonly (StatementTrace & { readonly purpose: "run" | "evidence" })[];
  /** One entry per request for a Local. */
  readonly scoring: readonly LocalTrace[];
  /** Best first. */
  readonly relevance: readonly NodeRelevance[];
  /** Nodes that a costly scorer was not asked about because they could no longer enter the result. */
  readonly pruned: number;
  /** Time in the store and in scoring. */
  readonly milliseconds: number;
}

/** A weighted node set. */
export interface SetTrace {
  readonly count: number;
  /** The first ones, in document order. */
  readonly nodes: readonly WeightedNode[];
}

export interface WeightedNode extends TracedNode {
  readonly weight: number;
}

export interface TracedNode {
  readonly id: string;
  readonly type: string;
  readonly pathKey: string;
}

export interface LocalTrace extends ScoringTrace {
  readonly field: string;
  readonly text: string;
  /** Nodes that were asked about. */
  readonly candidates: number;
}

/** What the scored brackets of a step made of one candidate. */
export interface NodeRelevance extends TracedNode {
  readonly weightBefore: number;
  readonly weight: number;
  /** By scored bracket. */
  readonly predicates: readonly { readonly text: string; readonly value: number }[];
  /** The first ones. */
  readonly evidence: readonly (TracedNode & { readonly aggregate: number; readonly score: number })[];
  readonly evidenceCount: number;
}

type Growing<T> = { -readonly [K in keyof T]: T[K] extends readonly (infer E)[] ? E[] : T[K] };

const ROOT: SetTrace = { count: 1, nodes: [{ id: "root", type: "Memory", pathKey: "", weight: 1 }] };
const EMPTY: SetTrace = { count: 0, nodes: [] };

/** Collects the trace of one evaluation. */
export class Tracer {
  readonly #steps: readonly Growing<StepTrace>[];

  constructor(
    private readonly query: Query,
    private readonly structure: StructureSource,
  ) {
    this.#steps = query.steps.map((step, index) => ({
      step: index + 1,
      text: printStep(step),
      before: index === 0 ? ROOT : EMPTY,
      after: EMPTY,
      statements: [],
      scoring: [],
      relevance: [],
      pruned: 0,
      milliseconds: 0,
    }));
  }

  /** After a run; reads the sets between its steps. */
  async ran(firstStep: number, run: StructuralRun, rows: readonly RunRow[], trace: StatementTrace): Promise<void> {
    const last = firstStep + run.steps.length - 1;
    for (let length = 1; length < run.steps.length; length++) {
      const prefix = { ...run, steps: run.steps.slice(0, length), values: false };
      this.#sets(firstStep + length - 1, setOf((await this.structure.run(prefix)).rows));
    }
    this.#sets(last, setOf(rows));
    this.#statement(last, "run", trace);
  }

  evidence(stage: Stage, trace: StatementTrace): void {
    this.#statement(lastStep(stage), "evidence", trace);
  }

  scored(step: number, request: Pick<LocalTrace, "field" | "text" | "candidates">, trace: ScoringTrace): void {
    const entry = this.#steps[step];
    entry?.scoring.push({ ...request, ...trace });
    if (entry !== undefined) entry.milliseconds += trace.milliseconds;
  }

  /** After the scored brackets of a stage. `known`: 0 where a candidate was pruned. */
  folded(
    stage: Stage,
    fold: {
      readonly nodes: Int32Array;
      readonly before: Float64Array;
      readonly after: Float64Array;
      readonly table: NodeTable;
      readonly values: StageValues;
      readonly known: Uint8Array | undefined;
    },
  ): void {
    const { nodes, before, after, table, values, known } = fold;
    const index = lastStep(stage);
    const step = this.#steps[index];
    if (step === undefined) return;
    const places = Array.from(nodes.keys()).filter((at) => known?.[at] !== 0);
    const survivors = places.filter((at) => (after[at] ?? 0) > 0);
    this.#sets(index, {
      count: survivors.length,
      nodes: survivors.slice(0, LIMITS.traceNodes).map((at) => weighted(table.key(nodes[at] ?? 0), after[at] ?? 0)),
    });
    step.pruned = nodes.length - places.length;
    const texts = (this.query.steps[index]?.predicates ?? [])
      .filter(({ kind }) => kind !== "comparison")
      .map(printRelevance);
    const best = places.sort((a, b) => (after[b] ?? 0) - (after[a] ?? 0)).slice(0, LIMITS.traceNodes);
    const shown = Int32Array.from(best, (at) => nodes[at] ?? 0);
    const columns = stage.predicates.map((predicate) => values.relevance(predicate, shown));
    step.relevance = best.map((at, row) => {
      const node = nodes[at] ?? 0;
      const evidence = rowEvidence(stage, values, table, node);
      return {
        ...traced(table.key(node)),
        weightBefore: roundRelevance(before[at] ?? 0),
        weight: roundRelevance(after[at] ?? 0),
        predicates: texts.map((text, column) => ({ text, value: roundRelevance(columns[column]?.[row] ?? 0) })),
        evidence: evidence
          .slice(0, LIMITS.traceNodes)
          .map(({ aggregate, key, score }) => ({ aggregate, ...traced(key), score })),
        evidenceCount: evidence.length,
      };
    });
  }

  /** After a search for the best nodes of the last step. */
  searched(
    request: Pick<LocalTrace, "field" | "text" | "candidates">,
    rows: readonly { readonly key: NodeKey; readonly value: number }[],
    trace: ScoringTrace,
  ): void {
    const step = this.#steps.at(-1);
    if (step === undefined) return;
    this.scored(this.#steps.length - 1, request, trace);
    const text = this.query.steps.at(-1)?.predicates.map(printRelevance)[0] ?? "";
    const nodes = rows.map(({ key, value }) => weighted(key, value)).slice(0, LIMITS.traceNodes);
    this.#sets(this.#steps.length - 1, { count: rows.length, nodes });
    step.relevance = nodes.map(({ weight, ...node }) => ({
      ...node,
      weightBefore: 1,
      weight,
      predicates: [{ text, value: weight }],
      evidence: [],
      evidenceCount: 0,
    }));
  }

  finish(): QueryTrace {
    return { steps: this.#steps };
  }

  /** The set after a step is the set before the next. */
  #sets(index: number, after: SetTrace): void {
    const [step, next] = [this.#steps[index], this.#steps[index + 1]];
    if (step !== undefined) step.after = after;
    if (next !== undefined) next.before = after;
  }

  #statement(index: number, purpose: "run" | "evidence", trace: StatementTrace): void {
    const step = this.#steps[index];
    step?.statements.push({ purpose, ...trace });
    if (step !== undefined) step.milliseconds += trace.milliseconds;
  }
}

/** Index of the step whose brackets a stage scores. */
export function lastStep(stage: Stage): number {
  return stage.firstStep + stage.steps.length - 1;
}

function setOf(rows: readonly RunRow[]): SetTrace {
  return {
    count: rows.length,
    nodes: rows.slice(0, LIMITS.traceNodes).map(({ key, weight }) => weighted(key, weight)),
  };
}

function weighted(key: NodeKey, weight: number): WeightedNode {
  return { ...traced(key), weight: roundRelevance(weight) };
}

function traced({ id, type, pathKey }: NodeKey): TracedNode {
  return { id, type, pathKey };
}
