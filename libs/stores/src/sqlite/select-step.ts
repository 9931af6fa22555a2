import type { Comparison, StructuralStep } from "#query";
import { type Liveness, liveCondition } from "./states.js";

/** Where a step begins: the virtual root, anywhere at a depth, or the rows of a table with `path` and `depth`. */
export type StepContext =
  | { readonly kind: "root" }
  | { readonly kind: "level"; readonly depth: number }
  | {
      readonly kind: "table";
      /** Alias of the contexts in the statement. */
      readonly alias: string;
      /** SQL of the contexts' depth: a number where it is known. */
      readonly depth: string;
    };

/** What a statement is put together from: parameters have names, and equal values share one. */
export class Parameters {
  readonly values: Record<string, string | number> = {};
  readonly #names = new Map<string | number, string>();

  /** The placeholder of a value. */
  bind(value: string | number): string {
    const known = this.#names.get(value);
    if (known !== undefined) return known;
    const name = `p${this.#names.size}`;
    this.values[name] = value;
    this.#names.set(value, `:${name}`);
    return `:${name}`;
  }
}

/**
 * The states that a step finds from its contexts, as a table to join and conditions. A node's descendants are the paths
 * between `path.` and `path/` (`/` follows `.`), its children those of the next depth: always one index range.
 */
export function stepTable(
  step: Pick<StructuralStep, "axis" | "type">,
  context: StepContext,
  alias: string,
  of: { readonly liveness: Pick<Liveness, "head">; readonly parameters: Parameters },
): { readonly table: string; readonly conditions: readonly string[] } {
  const conditions = [`${alias}.memory = :memory`];
  if (step.axis === "child") conditions.push(`${alias}.depth = ${childDepth(context)}`);
  if (step.type !== undefined) conditions.push(`${alias}.type = ${of.parameters.bind(step.type)}`);
  if (context.kind === "table") {
    conditions.push(`${alias}.path > ${context.alias}.path || '.'`, `${alias}.path < ${context.alias}.path || '/'`);
  }
  conditions.push(liveCondition(alias, of.liveness));
  return { table: `states ${alias} INDEXED BY ${indexOf(step, of.liveness)}`, conditions };
}

/** The depth of what a step finds, where it is known. */
export function depthAfter(step: Pick<StructuralStep, "axis">, context: StepContext): number | undefined {
  if (step.axis === "descendant") return undefined;
  const depth = Number(childDepth(context));
  return Number.isInteger(depth) ? depth : undefined;
}

function childDepth(context: StepContext): string {
  if (context.kind === "root") return "1";
  if (context.kind === "level") return String(context.depth + 1);
  const depth = Number(context.depth);
  return Number.isInteger(depth) ? String(depth + 1) : `${context.depth} + 1`;
}

function indexOf(step: Pick<StructuralStep, "axis" | "type">, { head }: Pick<Liveness, "head">): string {
  if (!head) return "states_by_history";
  if (step.axis === "child") return step.type === undefined ? "states_by_depth" : "states_by_depth_and_type";
  return step.type === undefined ? "states_by_path" : "states_by_type";
}

/** Whether a state's value fulfils a comparison: attributes first, then metadata. */
export function comparisonCondition(comparison: Comparison, alias: string, parameters: Parameters): string {
  const path = parameters.bind(`$."${comparison.name}"`);
  const value = `coalesce(${alias}.attributes -> ${path}, ${alias}.metadata -> ${path})`;
  return `comparison_holds(${value}, ${parameters.bind(JSON.stringify(comparison))})`;
}
