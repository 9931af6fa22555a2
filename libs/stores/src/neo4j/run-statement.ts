/**
 * A structural run as one statement: a chain of reads of index ranges, one per step, each from the nodes of the step before.
 * `WITH` keeps the order of the reads. The rows are in document order only where that costs nothing, or where a position or a
 * limit counts in it: the rows that come are sorted by who reads them.
 *
 * - Children, and descendants of contexts that do not contain each other, are reached once.
 * - Descendants of contexts that may be nested are reached twice: they are made distinct, or keep their largest weight.
 *   Of contexts that are given and weigh the same, only the outermost are sent.
 *
 * Weights are carried only where contexts have different ones. The statement's text depends on the run's shape alone.
 */
import { outermostPaths } from "../outermost-paths.js";
import type { StructuralRun } from "#query";
import { comparisonConditions, foldLevels, type LevelStep, type Liveness, matchStep } from "./match-step.js";
import { withMemory } from "./memory-row.js";
import { type Columns, depthOf, nodeCells, nodeColumns } from "./node-columns.js";
import { Parameters, type ParameterValue } from "./parameters.js";
import { cutClauses, type Orders, ordersOf } from "./cut-clauses.js";

export interface Statement {
  readonly text: string;
  readonly parameters: Readonly<Record<string, ParameterValue>>;
}

export interface RunStatement extends Statement {
  /** Those of the node. */
  readonly columns: Columns;
  /** The weight of every row; absent: it is in the column behind the node's. */
  readonly weight: number | undefined;
}

/** @param memory the key of the memory's nodes */
export function runStatement(run: StructuralRun, memory: string, liveness: Liveness): RunStatement {
  return new RunBuilder(run, memory, liveness).build();
}

class RunBuilder {
  readonly #parameters: Parameters;
  readonly #clauses: string[] = [];
  readonly #uniform: number | undefined;
  /** The nodes of the last step in the statement; undefined: the virtual root. */
  #current: string | undefined;
  /** Whether the last clause is `WITH`, so that a read can follow it. */
  #isClosed = true;
  /** No node of the last step lies inside another. */
  #disjoint = true;
  /** Properties by which the nodes of the last step come sorted, at no cost. */
  #order: readonly string[] | undefined;

  constructor(
    private readonly run: StructuralRun,
    memory: string,
    private readonly liveness: Liveness,
  ) {
    this.#parameters = new Parameters({ memory, revision: liveness.revision });
    this.#uniform = uniformWeight(run.contexts);
  }

  build(): RunStatement {
    const steps = foldLevels(this.run.steps);
    this.#begin(steps[0]?.axis === "descendant");
    steps.forEach((step, index) => {
      this.#step(step, `n${index + 1}`);
    });
    const current = this.#current ?? "";
    const columns = { type: steps.at(-1)?.type === undefined, values: this.run.values };
    const weight = this.#uniform === undefined ? ["weight"] : [];
    const { limit } = this.run;
    const order = limit === undefined && this.#order === undefined ? "" : `\nORDER BY ${this.#orders().ascending}`;
    const cut = limit === undefined ? "" : ` LIMIT ${this.#parameters.bindInteger(limit)}`;
    this.#clauses.push(`RETURN ${[...nodeCells(current, columns), ...weight].join(", ")}${order}${cut}`);
    return {
      text: withMemory(this.#clauses.join("\n"), [...nodeColumns(columns), ...weight]),
      parameters: this.#parameters.values,
      ...{ columns, weight: this.#uniform },
    };
  }

  #begin(descends: boolean): void {
    const { contexts } = this.run;
    if (contexts === "root") return;
    const outermost = new Set(outermostPaths(contexts.map(({ pathKey }) => pathKey)));
    const prunes = descends && this.#uniform !== undefined;
    const sent = prunes ? contexts.filter(({ pathKey }) => outermost.has(pathKey)) : contexts;
    this.#parameters.values["contexts"] = contextRows(sent);
    this.#disjoint = prunes || outermost.size === contexts.length;
    this.#clauses.push("UNWIND $contexts AS context");
    if (this.#uniform === undefined) this.#clauses.push("WITH context, context.weight AS weight");
    this.#current = "context";
  }

  #step(step: LevelStep, alias: string): void {
    if (!this.#isClosed) this.#clauses.push(`WITH ${this.#carried()}`);
    const compares = step.position === undefined;
    const { clause, order } = matchStep(step, this.#current, alias, {
      ...{ liveness: this.liveness, parameters: this.#parameters, compares },
    });
    this.#clauses.push(clause);
    this.#order = this.#current === undefined ? order : undefined;
    this.#current = alias;
    this.#isClosed = false;
    if (step.axis === "descendant") {
      if (!this.#disjoint) this.#makeDistinct();
      this.#disjoint = false;
    }
    if (step.position !== undefined) this.#cut(step, step.position);
  }

  /** Nodes that several contexts reach come once, with the largest weight. */
  #makeDistinct(): void {
    const alias = this.#current ?? "";
    this.#clauses.push(this.#uniform === undefined ? `WITH ${alias}, max(weight) AS weight` : `WITH DISTINCT ${alias}`);
    this.#isClosed = true;
  }

  #cut(step: LevelStep, position: NonNullable<LevelStep["position"]>): void {
    this.#clauses.push(...cutClauses(position, this.#carriedNames(), this.#orders(), this.#parameters));
    const conditions = comparisonConditions(step, this.#current ?? "", this.#parameters);
    if (conditions.length > 0) this.#clauses.push(`WHERE ${conditions.join("\n  AND ")}`);
    this.#isClosed = true;
    this.#disjoint ||= position.kind === "index";
    this.#order = undefined;
  }

  #carriedNames(): readonly string[] {
    return [this.#current ?? "", ...(this.#uniform === undefined ? ["weight"] : [])];
  }

  #carried(): string {
    return this.#carriedNames().join(", ");
  }

  #orders(): Orders {
    return ordersOf(this.#current ?? "", this.#order ?? ["pathKey"]);
  }
}

/** Contexts as the statements take them: `number` is their place in the list. */
export function contextRows(
  contexts: readonly { readonly id: string; readonly pathKey: string; readonly weight?: number }[],
): readonly Readonly<Record<string, string | number>>[] {
  return contexts.map(({ id, pathKey, weight = 1 }, number) => {
    return { number, id, pathKey, depth: depthOf(pathKey), weight };
  });
}

/** The weight that all contexts have, if it is one. */
function uniformWeight(contexts: StructuralRun["contexts"]): number | undefined {
  if (contexts === "root") return 1;
  const weight = contexts[0]?.weight ?? 1;
  return contexts.every((context) => context.weight === weight) ? weight : undefined;
}
