import { type Driver, type Plan } from "neo4j-driver";

/** Operators that read more than an index gives, or multiply rows, and so must be in no plan. */
const REFUSED = [
  "AllNodesScan",
  "NodeByLabelScan",
  "NodeIndexScan",
  "NodeIndexContainsScan",
  "NodeIndexEndsWithScan",
  "RelationshipsScan",
  "RelationshipTypeScan",
  "RelationshipIndexScan",
  "CartesianProduct",
  "VarLengthExpand",
  "ShortestPath",
];

/** How the server would run a statement. */
export interface StatementPlan {
  /** All operators, without the name of the database. */
  readonly operators: readonly string[];
  /** Those that no statement may have. */
  readonly refused: readonly string[];
  /** Indexes that are sought, as `Node(live, type, pathKey)`. */
  readonly indexes: readonly string[];
}

/** Asks the server for the plan of a statement, without running it. Parameters need names only. */
export async function planOf(
  driver: Driver,
  { text, parameters }: { readonly text: string; readonly parameters: Readonly<Record<string, unknown>> },
): Promise<StatementPlan> {
  const { summary } = await driver.executeQuery(`EXPLAIN ${text}`, parameters);
  if (summary.plan === false) throw new Error(`No plan of ${text}`);
  const plans = allPlans(summary.plan);
  const operators = plans.map(({ operatorType }) => operatorType.split("@")[0] ?? "");
  return {
    operators,
    refused: operators.filter((operator) => REFUSED.some((name) => operator.includes(name))),
    indexes: plans.flatMap(({ arguments: details }) => indexesIn(details["Details"] ?? "")),
  };
}

function allPlans(plan: Plan): readonly Plan[] {
  return [plan, ...plan.children.flatMap(allPlans)];
}

function indexesIn(details: string): readonly string[] {
  return [...details.matchAll(/(?:RANGE INDEX|UNIQUE) \w+:(\w+\([^)]*\))/g)].map(([, index = ""]) => index);
}
