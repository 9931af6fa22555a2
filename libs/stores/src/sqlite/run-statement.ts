/**
 * A structural run as one statement. The steps become a chain of joined index ranges, outermost first (CROSS JOIN keeps that
 * order), which gives the rows in document order as long as no context lies inside another:
 *
 * - Children of such contexts lie in disjoint subtrees, and do not lie inside each other either.
 * - Descendants of contexts that may be nested are reached twice and out of order. If all weigh the same, only the outermost
 *   contexts are joined (a context is nested if an earlier one's range ends behind it); else the node keeps its largest weight.
 * - A position closes the chain: its rows, cut from one end of the order, are the contexts of the next.
 * - Where the first step finds far more nodes than the second can (`//Turn//Note`), the second is read by itself and each of
 *   its nodes looks for a context among its ancestors.
 *
 * Weights are carried only where contexts have different ones. The statement's text depends on the run's shape alone.
 */
import type { StructuralRun, StructuralStep, WeightedContext } from "#query";
import { isDescendantPath } from "#core";
import { cutOf, cutSelect } from "./select-position.js";
import { comparisonCondition, depthAfter, Parameters, type StepContext, stepTable } from "./select-step.js";
import { keyColumns, type Liveness, liveParameters, valueColumns } from "./states.js";

export interface Statement {
  readonly sql: string;
  readonly parameters: Readonly<Record<string, string | number>>;
}

export interface RunStatement extends Statement {
  /** The weight of every row; absent: it is the row's last column. */
  readonly weight: number | undefined;
}

/** How many nodes of a type live at the head, at most; of all types if it is undefined. */
export type CountNodes = (type: string | undefined) => number;

export function runStatement(
  run: StructuralRun,
  memory: number,
  liveness: Liveness,
  countNodes: CountNodes,
): RunStatement {
  return new RunBuilder(run, memory, liveness, countNodes).build();
}

/** Looking for a context among the ancestors of a node costs as much as passing over so many contexts. */
const UPWARD_COST = 5;

/** A chain of joins that is not closed yet. */
interface Chain {
  readonly from: readonly string[];
  readonly where: readonly string[];
  /** The table whose rows the chain is about; undefined: the virtual root. */
  readonly current: string | undefined;
  /** Whether `current` is `states` itself, with all its columns. */
  readonly isStates: boolean;
  readonly depth: number | undefined;
  readonly weight: string | undefined;
  /** No row lies inside another. */
  readonly disjoint: boolean;
  /** Rows come in document order. */
  readonly ordered: boolean;
  /** The step that the chain consists of, if it is one from the root, without a position. */
  readonly first: StructuralStep | undefined;
  /** Paths of the joined tables, if these give the order: SQLite sees then that nothing is to be sorted, either way. */
  readonly orderedBy: readonly string[] | undefined;
}

class RunBuilder {
  readonly #parameters: Parameters;
  readonly #tables: string[] = [];
  #aliases = 0;

  constructor(
    private readonly run: StructuralRun,
    memory: number,
    private readonly liveness: Liveness,
    private readonly countNodes: CountNodes,
  ) {
    this.#parameters = new Parameters({ memory, ...liveParameters(liveness) });
  }

  build(): RunStatement {
    let chain = this.#begin();
    for (const step of this.run.steps) chain = this.#step(chain, step);
    const last = this.#withStates(chain);
    const weight = last.weight === undefined ? "" : `, ${last.weight} AS weight`;
    const alias = last.current ?? "";
    const columns = keyColumns(alias) + (this.run.values ? `, ${valueColumns(alias)}` : "") + weight;
    const limit = this.run.limit === undefined ? "" : `\nLIMIT ${this.#parameters.bind(this.run.limit)}`;
    const select = `SELECT ${columns}${body(last)}${ascending(last)}${limit}`;
    const sql = this.#tables.length === 0 ? select : `WITH ${this.#tables.join(",\n")}\n${select}`;
    const uniform = uniformWeight(this.run.contexts);
    return { sql, parameters: this.#parameters.values, weight: last.weight === undefined ? uniform : undefined };
  }

  #begin(): Chain {
    const { contexts, steps } = this.run;
    const root: Chain = {
      from: [],
      where: [],
      current: undefined,
      isStates: false,
      depth: 0,
      weight: undefined,
      disjoint: true,
      ordered: true,
      first: undefined,
      orderedBy: [],
    };
    if (contexts === "root") return root;
    const uniform = uniformWeight(contexts) !== undefined;
    const sorted = [...contexts].sort((left, right) => (left.pathKey < right.pathKey ? -1 : 1));
    const outer = outermost(sorted);
    const prune = uniform && steps[0]?.axis === "descendant";
    const kept = prune ? outer : sorted;
    const rows = kept.map(({ pathKey, weight }) => [pathKey, depthOf(pathKey), ...(uniform ? [] : [weight])]);
    const columns = ["path", "depth", ...(uniform ? [] : ["weight"])];
    const values = columns.map((column, index) => `value ->> ${index} AS ${column}`).join(", ");
    this.#tables.push(
      `contexts AS MATERIALIZED (SELECT ${values} FROM json_each(${this.#parameters.bind(JSON.stringify(rows))}))`,
    );
    return {
      ...root,
      ...this.#tableChain("contexts", uniform ? undefined : "contexts.weight"),
      disjoint: prune || outer.length === contexts.length,
    };
  }

  #step(before: Chain, step: StructuralStep): Chain {
    let chain = before;
    if (this.#isUpward(chain, step)) return this.#finishStep(this.#joinUpward(chain, step), step);
    const nested = step.axis === "descendant" && !chain.disjoint;
    if (nested && chain.weight === undefined) chain = this.#outermost(chain);
    chain = this.#join(chain, step);
    if (nested && chain.weight !== undefined) chain = this.#largestWeights(chain);
    return this.#finishStep(chain, step);
  }

  /** Position, then comparisons. */
  #finishStep(found: Chain, step: StructuralStep): Chain {
    let chain = found;
    if (step.position !== undefined) chain = this.#cut(chain, step.position);
    if (step.comparisons.length === 0) return chain;
    const compared = this.#withStates(chain);
    const conditions = step.comparisons.map((comparison) =>
      comparisonCondition(comparison, compared.current ?? "", this.#parameters),
    );
    return { ...compared, where: [...compared.where, ...conditions] };
  }

  #join(chain: Chain, step: StructuralStep): Chain {
    const alias = this.#alias();
    const context = contextOf(chain);
    const { table, conditions } = stepTable(step, context, alias, {
      liveness: this.liveness,
      parameters: this.#parameters,
    });
    return {
      from: [...chain.from, table],
      where: [...chain.where, ...conditions],
      current: alias,
      isStates: true,
      depth: depthAfter(step, context),
      weight: chain.weight,
      disjoint: step.axis === "child" && chain.disjoint,
      ordered: chain.ordered && chain.disjoint,
      first: context.kind === "root" ? step : undefined,
      orderedBy: chain.orderedBy !== undefined && chain.disjoint ? [...chain.orderedBy, `${alias}.path`] : undefined,
    };
  }

  #isUpward({ first }: Chain, step: StructuralStep): boolean {
    if (first === undefined || !this.liveness.head) return false;
    return this.countNodes(first.type) > UPWARD_COST * this.countNodes(step.type);
  }

  /** The nodes of a step from the root that have one of the chain's among their ancestors, or as their parent. */
  #joinUpward(contexts: Chain, step: StructuralStep): Chain {
    const [current, alias] = [contexts.current ?? "", this.#alias()];
    const { depth } = contexts;
    const isLevel = step.axis === "child" && depth !== undefined;
    const { table, conditions } = stepTable(
      { axis: isLevel ? "child" : "descendant", type: step.type },
      isLevel ? { kind: "level", depth } : { kind: "root" },
      alias,
      { liveness: this.liveness, parameters: this.#parameters },
    );
    const above = step.axis === "child" ? parentPath(alias) : "ancestor.value";
    const from =
      step.axis === "child" ? contexts.from : [`json_each(ancestor_paths(${alias}.path)) ancestor`, ...contexts.from];
    const context = `SELECT 1 FROM ${from.join(" CROSS JOIN ")} WHERE ${contexts.where.join(" AND ")} AND ${current}.path = ${above}`;
    return {
      ...contexts,
      from: [table],
      where: [...conditions, `EXISTS (${context})`],
      current: alias,
      depth: isLevel ? depth + 1 : undefined,
      disjoint: isLevel,
      first: undefined,
      orderedBy: [`${alias}.path`],
    };
  }

  /** The contexts that lie in no other: their descendants are those of all, once and in order. */
  #outermost(chain: Chain): Chain {
    const current = chain.current ?? "";
    const reaching = `max(${current}.path || '/') OVER (ORDER BY ${current}.path ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)`;
    const name = this.#table(`SELECT ${current}.path AS path, ${reaching} AS reach${body(chain)}`);
    return {
      ...this.#tableChain(name, undefined),
      where: [`(${name}.reach IS NULL OR ${name}.path >= ${name}.reach)`],
      disjoint: true,
    };
  }

  #largestWeights(chain: Chain): Chain {
    const current = chain.current ?? "";
    const select = `SELECT ${current}.row AS row, ${current}.path AS path, ${depthSql(chain)} AS depth, max(${chain.weight ?? "1"}) AS weight`;
    const name = this.#table(`${select}${body(chain)} GROUP BY ${current}.row`);
    return { ...this.#tableChain(name, `${name}.weight`), depth: chain.depth, ordered: false };
  }

  #cut(chain: Chain, position: NonNullable<StructuralStep["position"]>): Chain {
    const current = chain.current ?? "";
    const weight = chain.weight === undefined ? "" : `, ${chain.weight} AS weight`;
    const select = `SELECT ${current}.row AS row, ${current}.path AS path, ${depthSql(chain)} AS depth${weight}${body(chain)}`;
    const cut = cutSelect(
      cutOf(position),
      { select, ascending: ascending(chain), descending: descending(chain) },
      this.#parameters,
    );
    const name = this.#table(cut.select);
    return {
      ...this.#tableChain(name, chain.weight === undefined ? undefined : `${name}.weight`),
      depth: chain.depth,
      disjoint: chain.disjoint || position.kind === "index",
      ordered: cut.ordered,
    };
  }

  /** The chain with all columns of its states at hand. */
  #withStates(chain: Chain): Chain {
    if (chain.isStates) return chain;
    const alias = this.#alias();
    return {
      ...chain,
      from: [...chain.from, `states ${alias}`],
      where: [...chain.where, `${alias}.row = ${chain.current ?? ""}.row`],
      current: alias,
      isStates: true,
    };
  }

  #table(select: string): string {
    const name = `set${this.#tables.length}`;
    this.#tables.push(`${name} AS (${select})`);
    return name;
  }

  #tableChain(name: string, weight: string | undefined): Chain {
    return {
      from: [name],
      where: [],
      current: name,
      isStates: false,
      depth: undefined,
      weight,
      disjoint: false,
      ordered: true,
      first: undefined,
      orderedBy: undefined,
    };
  }

  #alias(): string {
    this.#aliases += 1;
    return `n${this.#aliases}`;
  }
}

function contextOf(chain: Chain): StepContext {
  return chain.current === undefined
    ? { kind: "root" }
    : { kind: "table", alias: chain.current, depth: depthSql(chain) };
}

/** The parent's path key: the node's without its last position key and the separator. */
function parentPath(alias: string): string {
  return `rtrim(rtrim(${alias}.path, '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'), '.')`;
}

function body(chain: Chain): string {
  const where = chain.where.length === 0 ? "" : `\nWHERE ${chain.where.join(" AND ")}`;
  return `\nFROM ${chain.from.join("\nCROSS JOIN ")}${where}`;
}

function ascending({ orderedBy, ordered, current }: Chain): string {
  if (orderedBy !== undefined) return `\nORDER BY ${orderedBy.join(", ")}`;
  return ordered ? "" : `\nORDER BY ${current ?? ""}.path`;
}

function descending({ orderedBy, current }: Chain): string {
  return `\nORDER BY ${(orderedBy ?? [`${current ?? ""}.path`]).map((path) => `${path} DESC`).join(", ")}`;
}

function depthSql({ depth, current }: Chain): string {
  return depth === undefined ? `${current ?? ""}.depth` : String(depth);
}

/** The weight that all contexts have, if it is one. */
function uniformWeight(contexts: StructuralRun["contexts"]): number | undefined {
  if (contexts === "root") return 1;
  const weight = contexts[0]?.weight ?? 1;
  return contexts.every((context) => context.weight === weight) ? weight : undefined;
}

/** The contexts that lie in no other, of a list in document order. */
function outermost(sorted: readonly WeightedContext[]): readonly WeightedContext[] {
  let last: string | undefined;
  return sorted.filter(({ pathKey }) => {
    if (last !== undefined && isDescendantPath(pathKey, last)) return false;
    last = pathKey;
    return true;
  });
}

function depthOf(path: string): number {
  return path === "" ? 0 : path.split(".").length;
}
