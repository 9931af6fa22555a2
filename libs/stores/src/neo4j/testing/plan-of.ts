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

/** Nodes and rows that the indexes do not know of yet. */
const YOUNG = 1_000;

/**
 * Writes what no index was sampled since: a server that is young plans by numbers of rows that are 0, for which it finds a scan of
 * an index as cheap as a search. `remove` takes it away.
 */
export async function writeYoung(driver: Driver): Promise<{ remove(): Promise<void> }> {
  await driver.executeQuery(
    `UNWIND range(1, $count) AS at
     CREATE (n:Node {memory: 'young', id: toString(at), born: 1, died: 2, live: 'young', type: 'T', parent: '', pathKey: toString(at)})
     CREATE (:Outbox {key: 'young ' + at, memory: 'young', id: toString(at), born: 1, model: 'm', field: '', task: 'vector',
       path: toString(at), revision: 1, tenant: 'young'})`,
    { count: YOUNG },
  );
  return {
    remove: async () => {
      await driver.executeQuery("MATCH (n:Node {memory: 'young'}) DETACH DELETE n");
      await driver.executeQuery("MATCH (o:Outbox {memory: 'young'}) DELETE o");
    },
  };
}

/** Asks the server for the plan of a statement as of now, without running it. Parameters need names only. */
export async function planOf(
  driver: Driver,
  { text, parameters }: { readonly text: string; readonly parameters: Readonly<Record<string, unknown>> },
): Promise<StatementPlan> {
  const { summary } = await driver.executeQuery(`CYPHER replan=force EXPLAIN ${text}`, parameters);
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
