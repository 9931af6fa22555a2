/**
 * The evidence of all contexts and paths as one statement: a chain of joined index ranges per path, as in a structural run,
 * but every row belongs to a context, positions count within it, and the rows of the kept steps are carried along.
 *
 * A position right below the contexts that counts from one end takes its nodes from each context's own index range and reads
 * no more of it than it counts; any other numbers the rows of its set.
 */
import { PATH_SEPARATOR } from "#core";
import type { EvidencePath, EvidenceRequest, StructuralStep } from "#query";
import { byShape } from "./by-shape.js";
import { keptSteps, maximumChains } from "../evidence-limit.js";
import type { Statement } from "./run-statement.js";
import { cutCondition, cutOf, cutSelect } from "./select-position.js";
import { comparisonCondition, depthAfter, Parameters, type StepContext, stepTable } from "./select-step.js";
import { keyColumns, KEY_WIDTH, type Liveness, liveParameters, valueColumns } from "./states.js";

export interface EvidenceStatement extends Statement {
  /** Columns of one node of a chain; the first two columns of a row are the context and the path. */
  readonly nodeWidth: number;
  /** More rows than this, or a row of context `OVERFLOW`, mean that there is too much evidence. */
  readonly maximum: number;
}

export function evidenceStatement(request: EvidenceRequest, memory: number, liveness: Liveness): EvidenceStatement {
  const { paths, values } = request;
  const { parameters, ...statement } = statementOf({ paths, values, head: liveness.head });
  const contexts = JSON.stringify(request.contexts.map(({ pathKey }) => pathKey));
  return { ...statement, parameters: { ...parameters, ...liveParameters(liveness), memory, contexts } };
}

/** What the statement depends on: contexts, memory and revision are bound to it. */
interface EvidenceShape extends Pick<EvidenceRequest, "paths" | "values">, Pick<Liveness, "head"> {}

const CONTEXTS = `contexts AS MATERIALIZED (SELECT key AS context, value AS path,
length(value) - length(replace(value, '${PATH_SEPARATOR}', '')) + 1 AS depth FROM json_each(:contexts))`;

const statementOf = byShape((shape: EvidenceShape): EvidenceStatement => {
  const { paths, values } = shape;
  const parameters = new Parameters();
  const tables = [CONTEXTS];
  const width = Math.max(...paths.map((path) => keptSteps(path).length));
  const nodeWidth = KEY_WIDTH + (values ? 2 : 0);
  const maximum = maximumChains(shape);
  const bound: Bound = { limit: maximum + 1, tables: [] };
  const selects = paths.map((path, index) =>
    new PathBuilder(tables, parameters, shape, bound).build(path, { index, width, values }),
  );
  const terms = [...overflow(bound, width * nodeWidth), ...selects];
  const sql = `WITH ${tables.join(",\n")}\n${terms.join("\nUNION ALL\n")}\nLIMIT ${bound.limit}`;
  return { sql, parameters: parameters.values, nodeWidth, maximum };
});

/** The context of a row that says that a table inside the statement was cut. */
export const OVERFLOW = -1;

/** The bound of every table that chains could make grow without end. */
interface Bound {
  /** One row more than there may be. */
  readonly limit: number;
  readonly tables: string[];
}

function overflow({ limit, tables }: Bound, columns: number): readonly string[] {
  if (tables.length === 0) return [];
  const full = tables.map((table) => `(SELECT count(*) FROM ${table}) = ${limit}`).join(" OR ");
  const empty = Array.from({ length: columns }, () => "NULL").join(", ");
  return [`SELECT ${OVERFLOW}, 0, ${empty} WHERE ${full}`];
}

/** The node of a kept step: an alias of `states` in the open chain, or a column with its row. */
type Kept = { readonly kind: "states"; readonly alias: string } | { readonly kind: "row"; readonly column: string };

class PathBuilder {
  #from: string[] = ["contexts"];
  #where: string[] = [];
  #current = "contexts";
  /** Whether `current` is `states` itself. */
  #isStates = false;
  #context = "contexts.context";
  #depth: number | undefined = undefined;
  #kept: Kept[] = [];
  /** No node lies inside another of its context. */
  #disjoint = true;
  /** A chain can come more than once: through different nodes of a step that is not kept. */
  #repeats = false;
  #lastKept = true;
  #aliases = 0;

  constructor(
    private readonly tables: string[],
    private readonly parameters: Parameters,
    private readonly liveness: Pick<Liveness, "head">,
    private readonly bound: Bound,
  ) {}

  build(path: EvidencePath, of: { readonly index: number; readonly width: number; readonly values: boolean }): string {
    const kept = new Set(keptSteps(path));
    for (const [index, step] of path.steps.entries()) {
      this.#step(step, kept.has(index));
      // Repeats multiply from step to step: they go before the next one.
      if (this.#repeats && index < path.steps.length - 1) this.#close();
    }
    const aliases = this.#kept.map((node) => this.#statesOf(node));
    const columns = (alias: string): string => keyColumns(alias) + (of.values ? `, ${valueColumns(alias)}` : "");
    const empty = Array.from({ length: KEY_WIDTH + (of.values ? 2 : 0) }, () => "NULL").join(", ");
    const nodes = Array.from({ length: of.width }, (_, index) => {
      const alias = aliases[index];
      return alias === undefined ? empty : columns(alias);
    });
    const distinct = this.#repeats ? "DISTINCT " : "";
    return `SELECT ${distinct}${[this.#context, String(of.index), ...nodes].join(", ")}${this.#body()}`;
  }

  #step(step: StructuralStep, keep: boolean): void {
    const alias = this.#alias();
    const depth = this.#depth === undefined ? `${this.#current}.depth` : String(this.#depth);
    const context = { kind: "table", alias: this.#current, depth } as const;
    const cut = this.#current === "contexts" ? this.#countedStates(step, context, alias) : undefined;
    const { table, conditions } = cut ?? this.#states(step, context, alias);
    this.#from.push(table);
    this.#where.push(...conditions);
    this.#repeats ||= step.axis === "descendant" && !this.#disjoint && !this.#lastKept;
    this.#disjoint &&= step.axis === "child";
    this.#lastKept = keep;
    this.#depth = depthAfter(step, context);
    this.#current = alias;
    this.#isStates = true;
    if (step.position !== undefined && cut === undefined) this.#cut(step.position);
    if (step.comparisons.length > 0) this.#compare(step.comparisons);
    if (keep) this.#kept.push(this.#currentNode());
  }

  #states(step: StructuralStep, context: StepContext, alias: string): ReturnType<typeof stepTable> {
    return stepTable(step, context, alias, { liveness: this.liveness, parameters: this.parameters });
  }

  /** The states that a step finds and its position selects of each context; `undefined` if it does not count from one end. */
  #countedStates(step: StructuralStep, context: StepContext, alias: string): ReturnType<typeof stepTable> | undefined {
    const cut = step.position && cutOf(step.position);
    if (cut?.kind !== "first" && cut?.kind !== "last") return undefined;
    const inner = `${alias}_in_order`;
    const { table, conditions } = this.#states(step, context, inner);
    const ordered = {
      select: `SELECT ${inner}.row FROM ${table} WHERE ${conditions.join(" AND ")}`,
      ...{ ascending: ` ORDER BY ${inner}.path`, descending: ` ORDER BY ${inner}.path DESC` },
    };
    const { select } = cutSelect(cut, ordered, this.parameters);
    const among = cut.take === 1 ? "=" : "IN";
    return { table: `states ${alias}`, conditions: [`${alias}.row ${among} (${select})`] };
  }

  #compare(comparisons: StructuralStep["comparisons"]): void {
    if (!this.#isStates) {
      this.#current = this.#statesOf(this.#currentNode());
      this.#isStates = true;
    }
    this.#where.push(
      ...comparisons.map((comparison) => comparisonCondition(comparison, this.#current, this.parameters)),
    );
  }

  /** Closes the chain and cuts it: rows are numbered by node, so that one that several chains reach counts once. */
  #cut(position: NonNullable<StructuralStep["position"]>): void {
    this.#close();
    const numbered = `SELECT *, dense_rank() OVER (PARTITION BY context ORDER BY path) AS number FROM ${this.#current}`;
    const sized = `SELECT *, max(number) OVER (PARTITION BY context) AS size FROM (${numbered})`;
    this.#continue(`SELECT * FROM (${sized}) WHERE ${cutCondition(position, this.parameters)}`);
  }

  /** Closes the chain: its distinct rows become a table, with the rows of the kept nodes. */
  #close(): void {
    const current = this.#current;
    const depth = this.#depth === undefined ? `${current}.depth` : String(this.#depth);
    const kept = this.#kept.map((node, index) => `, ${rowOf(node)} AS kept${index}`).join("");
    const columns = `${this.#context} AS context, ${current}.row AS row, ${current}.path AS path, ${depth} AS depth${kept}`;
    const distinct = this.#repeats ? "DISTINCT " : "";
    this.#repeats = false;
    this.bound.tables.push(this.#continue(`SELECT ${distinct}${columns}${this.#body()} LIMIT ${this.bound.limit}`));
  }

  /** Goes on from a table of contexts, rows and kept nodes; answers its name. */
  #continue(select: string): string {
    const name = `set${this.tables.length}`;
    this.tables.push(`${name} AS MATERIALIZED (${select})`);
    this.#from = [name];
    this.#where = [];
    this.#current = name;
    this.#isStates = false;
    this.#context = `${name}.context`;
    this.#kept = this.#kept.map((_, index) => ({ kind: "row", column: `${name}.kept${index}` }));
    return name;
  }

  #currentNode(): Kept {
    return this.#isStates ? { kind: "states", alias: this.#current } : { kind: "row", column: `${this.#current}.row` };
  }

  /** The alias of `states` for a node, joined by its row if it is not there. */
  #statesOf(node: Kept): string {
    if (node.kind === "states") return node.alias;
    const joined = this.#alias();
    this.#from.push(`states ${joined}`);
    this.#where.push(`${joined}.row = ${node.column}`);
    return joined;
  }

  #body(): string {
    const where = this.#where.length === 0 ? "" : `\nWHERE ${this.#where.join(" AND ")}`;
    return `\nFROM ${this.#from.join("\nCROSS JOIN ")}${where}`;
  }

  #alias(): string {
    this.#aliases += 1;
    return `n${this.#aliases}`;
  }
}

function rowOf(node: Kept): string {
  return node.kind === "states" ? `${node.alias}.row` : node.column;
}
