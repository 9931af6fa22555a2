/**
 * The evidence of all contexts and paths as one statement: a chain of reads of index ranges per path, as in a structural run,
 * but every row belongs to a context, positions count within it, and the nodes of the kept steps are carried along.
 *
 * Rows stream through the chain but for two places, where all are collected: where nodes are reached in several ways, and
 * where a position cuts. There, as at the end, no more are taken than there may be, and one too many ends the statement by
 * the one error that a statement can make: it divides by zero.
 */
import type { EvidencePath, EvidenceRequest } from "#query";
import { keptSteps, maximumChains } from "../evidence-limit.js";
import { comparisonConditions, foldLevels, type LevelStep, type Liveness, matchStep } from "./match-step.js";
import { countedCut, ordersOf, sliceOf } from "./cut-clauses.js";
import { withMemory } from "./memory-row.js";
import { type Columns, nodeCells, nodeColumns } from "./node-columns.js";
import { Parameters } from "./parameters.js";
import { contextRows, type Statement } from "./run-statement.js";

export interface EvidenceStatement extends Statement {
  /** Those of each node of a chain; they begin behind the numbers of the context and of the path. */
  readonly columns: Columns;
  /** More rows than this, or the error of a division by zero, mean that there is too much evidence. */
  readonly maximum: number;
}

/** @param memory the key of the memory's nodes */
export function evidenceStatement(request: EvidenceRequest, memory: string, liveness: Liveness): EvidenceStatement {
  const parameters = new Parameters({ memory, revision: liveness.revision, contexts: contextRows(request.contexts) });
  const width = Math.max(...request.paths.map((path) => keptSteps(path).length));
  const maximum = maximumChains(request);
  const limit = parameters.bindInteger(maximum + 1);
  const columns = { type: request.paths.some(leavesTypeOpen), values: request.values };
  const of = { parameters, liveness, limit, width, columns };
  const paths = request.paths.map((path, number) => new PathBuilder(path, number, of).build());
  const names = [
    "context",
    "path",
    ...Array.from({ length: width }, (_, at) => nodeColumns(columns, String(at))).flat(),
  ];
  const chains =
    paths.length === 1 ? (paths[0] ?? "") : `CALL () {\n${paths.join("\nUNION ALL\n")}\n}\nRETURN ${names.join(", ")}`;
  return { text: withMemory(`${chains} LIMIT ${limit}`, names), parameters: parameters.values, maximum, columns };
}

/** Whether a node of a chain can be of any type. */
function leavesTypeOpen(path: EvidencePath): boolean {
  return keptSteps(path).some((index) => path.steps[index]?.type === undefined);
}

interface PathOptions {
  readonly parameters: Parameters;
  readonly liveness: Liveness;
  /** One row more than there may be, as an integer in the statement. */
  readonly limit: string;
  readonly width: number;
  readonly columns: Columns;
}

class PathBuilder {
  readonly #clauses: string[] = ["UNWIND $contexts AS context"];
  readonly #kept: string[] = [];
  /** The node of the last step, or the context. */
  #current = "context";
  /** The number of the context: in the rows that are read first, the context is a map. */
  #context = "context.number";
  /** Whether a read can follow: it cannot follow another. */
  #isClosed = true;
  /** No node lies inside another of its context. */
  #disjoint = true;
  /** A chain can come more than once: through different nodes of a step that is not kept. */
  #repeats = false;
  /** A node may have been reached in several ways: chains may multiply. */
  #multiplies = false;
  #lastKept = true;

  constructor(
    private readonly path: EvidencePath,
    private readonly number: number,
    private readonly of: PathOptions,
  ) {}

  build(): string {
    foldLevels(this.path.steps, keptSteps(this.path)).forEach((step, index) => {
      this.#step(step, `n${index + 1}`);
    });
    if (this.#multiplies) this.#collect();
    const { width, columns } = this.of;
    const nodes = Array.from({ length: width }, (_, at) => nodeCells(this.#kept[at], columns, String(at)));
    const cells = [`${this.#context} AS context`, `${this.number} AS path`, ...nodes.flat()];
    return [...this.#clauses, `RETURN ${cells.join(", ")}`].join("\n");
  }

  #step(step: LevelStep, alias: string): void {
    const { liveness, parameters } = this.of;
    // What has multiplied multiplies from step to step: it is counted, without its repeats, before the next one.
    if (this.#multiplies) this.#collect();
    if (!this.#isClosed) this.#project("");
    const compares = step.position === undefined;
    const isFirst = this.#current === "context";
    const { clause, order } = matchStep(step, this.#current, alias, { liveness, parameters, compares });
    this.#current = alias;
    this.#isClosed = false;
    this.#multiplies = step.axis === "descendant" && !this.#disjoint;
    this.#repeats = this.#multiplies && !this.#lastKept;
    this.#disjoint &&= step.axis === "child";
    this.#lastKept = step.kept;
    const { position } = step;
    const counted = position && isFirst ? countedCut(position, ordersOf(alias, order), parameters) : undefined;
    if (counted === undefined) {
      this.#clauses.push(clause);
      if (position !== undefined) this.#cut(position);
    } else {
      // A context's own range in its own order: no more of it is read than that.
      this.#clauses.push("CALL (context) {", clause, `RETURN ${alias} ${counted}`, "}");
      this.#project("");
    }
    if (position !== undefined) this.#compare(step);
    if (step.kept) this.#kept.push(alias);
  }

  /** Cuts the nodes of each context: one that several chains reach counts once, and stays with all of them or with none. */
  #cut(position: NonNullable<LevelStep["position"]>): void {
    this.#collect();
    const { parameters } = this.of;
    const current = this.#current;
    const chains = this.#kept.length === 0 ? "" : `, collect(${this.#row()}) AS rows`;
    const slice = sliceOf(position, "nodes", parameters);
    this.#clauses.push(
      `WITH ${this.#carried().join(", ")} ORDER BY ${current}.pathKey`,
      `WITH context, collect(DISTINCT ${current}) AS nodes${chains}`,
    );
    if (this.#kept.length === 0) {
      this.#clauses.push(`UNWIND ${slice} AS ${current}`, `WITH context, ${current}`);
    } else {
      this.#clauses.push(
        `WITH rows, ${slice} AS nodes`,
        "UNWIND rows AS row",
        `WITH ${this.#unpacked()}, nodes`,
        `WHERE nodes[0].pathKey <= ${current}.pathKey <= nodes[-1].pathKey`,
        `WITH ${this.#carried().join(", ")}`,
      );
    }
  }

  /** Follows a `WITH`. */
  #compare(step: LevelStep): void {
    const conditions = comparisonConditions(step, this.#current, this.of.parameters);
    if (conditions.length > 0) this.#clauses.push(`WHERE ${conditions.join("\n  AND ")}`);
  }

  /** Collects the distinct chains of all contexts, so that too many of them end the statement. */
  #collect(): void {
    this.#project(this.#repeats ? "DISTINCT " : "");
    const { limit } = this.of;
    this.#clauses.push(
      `LIMIT ${limit}`,
      `WITH collect(${this.#row()}) AS rows`,
      `UNWIND CASE WHEN size(rows) < ${limit} THEN rows ELSE 1 / (size(rows) - size(rows)) END AS row`,
      `WITH ${this.#unpacked()}`,
    );
    this.#repeats = false;
    this.#multiplies = false;
  }

  #project(distinct: "" | "DISTINCT "): void {
    const [, ...nodes] = this.#carried();
    const context = this.#context === "context" ? "context" : `${this.#context} AS context`;
    this.#clauses.push(`WITH ${distinct}${[context, ...nodes].join(", ")}`);
    this.#context = "context";
    this.#isClosed = true;
  }

  /** Names of what a row has, the node of the last step at the end. */
  #carried(): readonly string[] {
    return [...new Set(["context", ...this.#kept, this.#current])];
  }

  #row(): string {
    return `{${this.#carried()
      .map((name) => `${name}: ${name}`)
      .join(", ")}}`;
  }

  #unpacked(): string {
    return this.#carried()
      .map((name) => `row.${name} AS ${name}`)
      .join(", ");
  }
}
