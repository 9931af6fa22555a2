import type { NodeKey } from "#core";
import { throwIfAborted } from "./aborted.js";
import type { StageScope } from "./stage-scope.js";
import { lastStep } from "./trace.js";

/** Asks for the values of one Local and keeps them. The nodes differ from each other and their values are not known. */
export async function askLocal(scope: StageScope, local: number, nodes: Int32Array): Promise<void> {
  const planned = scope.plan.locals[local];
  if (planned === undefined || nodes.length === 0) return;
  throwIfAborted(scope.signal);
  const { field, text } = planned;
  const candidates: NodeKey[] = [];
  for (const node of nodes) candidates.push(scope.table.key(node));
  const { values, trace } = await scope.relevance.relevance({ field, text, candidates });
  scope.locals.keep(local, nodes, values, scope.table.size);
  scope.tracer?.scored(lastStep(scope.stage), { field, text, candidates: candidates.length }, trace);
}
