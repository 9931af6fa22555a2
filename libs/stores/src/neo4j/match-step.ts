import type { StructuralStep } from "#query";
import { comparisonCondition } from "./comparison-condition.js";
import type { Parameters } from "./parameters.js";

/** Which states a statement reads. */
export interface Liveness {
  /**
   * Whether all states that live at the revision still have `live`: they are read through the indexes that hold no others.
   * Else through the indexes over all states.
   */
  readonly head: boolean;
  readonly revision: number;
}

/** A step, with the steps of `*` before it that it stands for. */
export interface LevelStep extends StructuralStep {
  /** A descendant lies at least so many levels below its context. 1 for a child. */
  readonly levels: number;
  /** Whether its node is asked for. */
  readonly kept: boolean;
}

/**
 * Steps without those that only go down: where one of a row of them is `//`, a `*` without brackets whose node is not asked
 * for says no more than that what follows lies a level deeper.
 *
 * @param kept indexes of the steps whose nodes are asked for
 */
export function foldLevels(steps: readonly StructuralStep[], kept: readonly number[] = []): readonly LevelStep[] {
  const folded: LevelStep[] = [];
  for (const [index, step] of steps.entries()) {
    const before = folded.at(-1);
    const own = { ...step, levels: 1, kept: kept.includes(index) };
    const folds = before !== undefined && isBare(before) && [before.axis, step.axis].includes("descendant");
    if (folds) folded.splice(-1, 1, { ...own, axis: "descendant", levels: before.levels + 1 });
    else folded.push(own);
  }
  return folded;
}

function isBare({ type, position, comparisons, kept }: LevelStep): boolean {
  return !kept && type === undefined && position === undefined && comparisons.length === 0;
}

/** A read of a step's states from one context, or from the root, as a clause. */
export interface StepMatch {
  readonly clause: string;
  /** Properties of the index that is read: in this order its states come in document order. */
  readonly order: readonly string[];
}

/**
 * The states that a step finds from its context, as `MATCH … WHERE` over one index range. Below a context are the path keys
 * that begin with its own and a separator. Children are those of its descendants that name it as their parent; children of
 * any type, and of the root, are read by their parent. Every property of the index has a predicate: the range would not be
 * one without.
 *
 * @param context a node or a map with `id`, `pathKey` and `depth` in the statement; `undefined` is the root
 */
export function matchStep(
  step: LevelStep,
  context: string | undefined,
  alias: string,
  of: { readonly liveness: Liveness; readonly parameters: Parameters; readonly compares: boolean },
): StepMatch {
  const { axis, type, levels } = step;
  const { parameters, liveness } = of;
  const owner = liveness.head ? "live" : "memory";
  const byParent = liveness.head && axis === "child" && (type === undefined || context === undefined);
  const order = [owner, ...(byParent ? ["parent"] : type === undefined ? [] : ["type"]), "pathKey"];
  const conditions = [`${alias}.${owner} = $memory`];
  if (axis === "child") conditions.push(`${alias}.parent = ${context === undefined ? "''" : `${context}.id`}`);
  if (type !== undefined) conditions.push(`${alias}.type = ${parameters.bind(type)}`);
  conditions.push(`${alias}.pathKey ${context === undefined ? "> ''" : `STARTS WITH ${context}.pathKey + '.'`}`);
  if (levels > 1) {
    const depth = context === undefined ? "" : `${context}.depth + `;
    conditions.push(`${alias}.depth >= ${depth}${parameters.bind(levels)}`);
  }
  conditions.push(`${alias}.born <= $revision AND ${alias}.died > $revision`);
  if (of.compares) conditions.push(...comparisonConditions(step, alias, parameters));
  const index = `USING INDEX SEEK ${alias}:Node(${order.join(", ")})`;
  return { clause: `MATCH (${alias}:Node) ${index}\nWHERE ${conditions.join("\n  AND ")}`, order };
}

/** The conditions of a step's comparisons. */
export function comparisonConditions(
  { comparisons }: StructuralStep,
  alias: string,
  parameters: Parameters,
): readonly string[] {
  return comparisons.map((comparison) => comparisonCondition(comparison, alias, parameters));
}
