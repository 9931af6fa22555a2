/**
 * A structural run as one statement. The steps become a chain of joined index ranges, outermost first (CROSS JOIN keeps that
 * order), which gives the rows in document order as long as no context lies inside another:
 *
 * - Children of such contexts lie in disjoint subtrees, and do not lie inside each other either.
 * - Descendants of contexts that may be nested are reached twice and out of order. If all weigh the same, only the outermost
 *   contexts are joined (a context is nested if an earlier one's range ends behind it); else the node keeps its largest weight.
 * - A position closes the chain: its rows, cut from one end of the order, are the contexts of the next. One that ends the run
 *   cuts the statement itself where an index has the order; the last of a set come in reverse then.
 * - Where the first step finds far more nodes than the second can (`//Turn//Note`), the second is read by itself and each of
 *   its nodes looks for a context among its ancestors.
 *
 * Weights are carried only where contexts have different ones. The statement's text depends on the run's shape alone, and is
 * made once for each.
 */
import type { Position, StructuralRun, StructuralStep, WeightedContext } from "#query";
import { isDescendantPath } from "#core";
import { byShape } from "./by-shape.js";
import { limitTo } from "./connection.js";
import { type Cut, cutOf, cutSelect } from "./select-position.js";
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
  const { steps, values, limit } = run;
  const contexts = placed(run);
  const { sql, parameters } = statementOf({
    ...{ steps, values, limit, head: liveness.head, opening: openingOf(run, liveness, countNodes) },
    contexts: contexts && { weighted: contexts.weight === undefined, disjoint: contexts.disjoint },
  });
  const bound = { ...parameters, ...liveParameters(liveness), memory, ...(contexts && { contexts: contexts.rows }) };
  return { sql, parameters: bound, weight: contexts === undefined ? 1 : contexts.weight };
}

/** What the statement depends on: contexts, memory and revision are bound to it. */
interface RunShape extends Pick<StructuralRun, "steps" | "values">, Pick<Liveness, "head"> {
  readonly limit: number | undefined;
  /** Absent: the virtual root. */
  readonly contexts: { readonly weighted: boolean; readonly disjoint: boolean } | undefined;
  readonly opening: Opening;
}

/**
 * How two steps from the root are read: the second below the nodes of the first, which may be nested, or below the only one
 * that there is, or by itself, with a look for a context above each of its nodes.
 */
type Opening = "downward" | "single" | "upward";

const statementOf = byShape((shape: RunShape): Statement => new RunBuilder(shape).build());

/** Contexts as they are bound: in document order, with those that others reach too only where these may weigh less. */
interface PlacedContexts {
  readonly rows: string;
  /** Of all; absent: they have different ones. */
  readonly weight: number | undefined;
  /** No one lies inside another. */
  readonly disjoint: boolean;
}

function placed({ contexts, steps }: StructuralRun): PlacedContexts | undefined {
  if (contexts === "root") return undefined;
  const weight = uniformWeight(contexts);
  const sorted = [...contexts].sort((left, right) => (left.pathKey < right.pathKey ? -1 : 1));
  const outer = outermost(sorted);
  const prune = weight !== undefined && steps[0]?.axis === "descendant";
  const rows = (prune ? outer : sorted).map((context) => [
    ...[context.pathKey, depthOf(context.pathKey)],
    ...(weight === undefined ? [context.weight] : []),
  ]);
  return { rows: JSON.stringify(rows), weight, disjoint: prune || outer.length === contexts.length };
}

/** Looking for a context among the ancestors of a node costs as much as passing over so many contexts. */
const UPWARD_COST = 5;

function openingOf({ contexts, steps }: StructuralRun, { head }: Liveness, countNodes: CountNodes): Opening {
  const [first, second] = steps;
  if (contexts !== "root" || !head || first === undefined || second === undefined) return "downward";
  const most = countNodes(first.type);
  if (most <= 1) return "single";
  return first.position === undefined && most > UPWARD_COST * countNodes(second.type) ? "upward" : "downward";
}

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
  /** Paths of the joined tables, if these give the order: SQLite sees then that nothing is to be sorted, either way. */
  readonly orderedBy: readonly string[] | undefined;
  /** A position of its last step that is still to be applied. */
  readonly position: Position | undefined;
}

class RunBuilder {
  readonly #parameters = new Parameters();
  readonly #tables: string[] = [];
  #aliases = 0;

  constructor(private readonly shape: RunShape) {}

  build(): Statement {
    let chain = this.#begin();
    for (const [index, step] of this.shape.steps.entries()) chain = this.#step(chain, step, index);
    const cut = this.#closingCut(chain);
    const last = cut === undefined ? this.#withStates(this.#closed(chain)) : chain;
    const weight = last.weight === undefined ? "" : `, ${last.weight} AS weight`;
    const alias = last.current ?? "";
    const columns = keyColumns(alias) + (this.shape.values ? `, ${valueColumns(alias)}` : "") + weight;
    const select = this.#ordered(`SELECT ${columns}${body(last)}`, last, cut);
    const sql = this.#tables.length === 0 ? select : `WITH ${this.#tables.join(",\n")}\n${select}`;
    return { sql, parameters: this.#parameters.values };
  }

  /** The position that ends the run, if it counts from one end of what indexes have in order and no limit cuts further. */
  #closingCut({ position, isStates, orderedBy }: Chain): Cut | undefined {
    const cut = position && cutOf(position);
    if (!isStates || orderedBy === undefined || (cut?.kind !== "first" && cut?.kind !== "last")) return undefined;
    const { limit } = this.shape;
    return limit === undefined || (cut.take >= 0 && cut.take <= limit) ? cut : undefined;
  }

  #ordered(select: string, last: Chain, cut: Cut | undefined): string {
    const orders = { ascending: ascending(last), descending: descending(last) };
    if (cut !== undefined) return cutSelect(cut, { select, ...orders }, this.#parameters).select;
    const { limit } = this.shape;
    return `${select}${orders.ascending}${limit === undefined ? "" : `\n${limitTo(this.#parameters.bind(limit))}`}`;
  }

  #begin(): Chain {
    const { contexts } = this.shape;
    const root: Chain = {
      from: [],
      where: [],
      current: undefined,
      isStates: false,
      depth: 0,
      weight: undefined,
      disjoint: true,
      ordered: true,
      orderedBy: [],
      position: undefined,
    };
    if (contexts === undefined) return root;
    const columns = ["path", "depth", ...(contexts.weighted ? ["weight"] : [])];
    const values = columns.map((column, index) => `value ->> ${index} AS ${column}`).join(", ");
    this.#tables.push(`contexts AS MATERIALIZED (SELECT ${values} FROM json_each(:contexts))`);
    const chain = this.#tableChain("contexts", contexts.weighted ? "contexts.weight" : undefined);
    return { ...chain, disjoint: contexts.disjoint };
  }

  #step(before: Chain, step: StructuralStep, index: number): Chain {
    const contexts = this.#closed(before);
    const { opening } = this.shape;
    const isUpward = index === 1 && opening === "upward";
    const found = isUpward ? this.#joinUpward(contexts, step) : this.#joinDownward(contexts, step);
    const disjoint = found.disjoint || (index === 0 && opening === "single");
    return this.#compared({ ...found, disjoint, position: step.position }, step);
  }

  #joinDownward(contexts: Chain, step: StructuralStep): Chain {
    const nested = step.axis === "descendant" && !contexts.disjoint;
    if (!nested) return this.#join(contexts, step);
    if (contexts.weight === undefined) return this.#join(this.#outermost(contexts), step);
    return this.#largestWeights(this.#join(contexts, step));
  }

  #compared(chain: Chain, step: StructuralStep): Chain {
    if (step.comparisons.length === 0) return chain;
    const compared = this.#withStates(this.#closed(chain));
    const conditions = step.comparisons.map((comparison) =>
      comparisonCondition(comparison, compared.current ?? "", this.#parameters),
    );
    return { ...compared, where: [...compared.where, ...conditions] };
  }

  #join(chain: Chain, step: StructuralStep): Chain {
    const alias = this.#alias();
    const context = contextOf(chain);
    const { table, conditions } = stepTable(step, context, alias, {
      liveness: this.shape,
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
      orderedBy: chain.orderedBy !== undefined && chain.disjoint ? [...chain.orderedBy, `${alias}.path`] : undefined,
      position: undefined,
    };
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
      { liveness: this.shape, parameters: this.#parameters },
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

  /** The chain with its position applied. */
  #closed(chain: Chain): Chain {
    const { position } = chain;
    if (position === undefined) return chain;
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
      orderedBy: undefined,
      position: undefined,
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
function uniformWeight(contexts: readonly WeightedContext[]): number | undefined {
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
