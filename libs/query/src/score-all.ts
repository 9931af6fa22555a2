import { askLocal } from "./ask-local.js";
import { nodesAt } from "./evidence-set.js";
import type { LocalUse } from "./plan.js";
import type { StageScope } from "./stage-scope.js";

/**
 * Asks for every value that a stage needs: once per distinct Local, for the union of candidates and evidence, leaving out
 * what is known from an earlier stage. The Locals are asked side by side, so that a model sees all their texts at once.
 */
export async function scoreAll(scope: StageScope): Promise<void> {
  const locals = [...new Set(scope.stage.uses.map(({ local }) => local))];
  await Promise.all(locals.map((local) => askLocal(scope, local, unknownNodes(scope, local))));
}

function unknownNodes(scope: StageScope, local: number): Int32Array {
  const { table, stage } = scope;
  const values = scope.locals.of(local, table.size);
  const marked = new Uint8Array(table.size);
  const unknown = new Int32Array(table.size);
  let count = 0;
  for (const use of stage.uses) {
    if (use.local !== local) continue;
    for (const node of nodesOf(scope, use)) {
      if (marked[node] === 1 || !Number.isNaN(values[node])) continue;
      marked[node] = 1;
      unknown[count++] = node;
    }
  }
  return unknown.subarray(0, count);
}

function nodesOf({ set, sets, table }: StageScope, { evidence }: LocalUse): Int32Array {
  if (evidence === undefined) return set.nodes;
  const chains = sets[evidence.aggregate.level]?.chains[evidence.aggregate.slot];
  return chains === undefined ? new Int32Array(0) : nodesAt(chains, evidence.link, table.size);
}
