import type { NodeKey } from "#core";
import { throwIfAborted } from "./aborted.js";
import { groupEvidence, nodesAt, type EvidenceSet } from "./evidence-set.js";
import type { NodeTable } from "./node-table.js";
import type { EvidenceLevel, Stage } from "./plan.js";
import type { StructureSource } from "./ports.js";
import type { Tracer } from "./trace.js";

/**
 * The evidence of all aggregates of a stage, level by level: one store call for all contexts and all aggregates of a level.
 * The contexts of an inner level are the chain nodes whose predicates hold its aggregates.
 */
export async function fetchEvidence(fetch: {
  readonly stage: Stage;
  /** The candidates. */
  readonly nodes: Int32Array;
  readonly table: NodeTable;
  readonly structure: StructureSource;
  readonly signal: AbortSignal | undefined;
  readonly tracer: Tracer | undefined;
}): Promise<readonly EvidenceSet[]> {
  const { table } = fetch;
  const sets: EvidenceSet[] = [];
  for (const level of fetch.stage.levels) {
    throwIfAborted(fetch.signal);
    const above = sets.at(-1);
    const contexts = above === undefined ? fetch.nodes : innerContexts(level, above, table.size);
    if (contexts.length === 0) {
      sets.push(groupEvidence(level, contexts, [], table));
      continue;
    }
    const { rows, trace } = await fetch.structure.evidence({
      contexts: keysOf(contexts, table),
      paths: level.aggregates.map(({ path }) => path),
      values: level.values,
    });
    fetch.tracer?.evidence(fetch.stage, trace);
    sets.push(groupEvidence(level, contexts, rows, table));
  }
  return sets;
}

function keysOf(nodes: Int32Array, table: NodeTable): readonly NodeKey[] {
  const keys: NodeKey[] = [];
  for (const node of nodes) keys.push(table.key(node));
  return keys;
}

function innerContexts(level: EvidenceLevel, above: EvidenceSet, size: number): Int32Array {
  const contexts = new Set<number>();
  const seen = new Set<string>();
  for (const { parent } of level.aggregates) {
    if (parent === undefined || seen.has(`${parent.aggregate},${parent.link}`)) continue;
    seen.add(`${parent.aggregate},${parent.link}`);
    const chains = above.chains[parent.aggregate];
    if (chains !== undefined) for (const node of nodesAt(chains, parent.link, size)) contexts.add(node);
  }
  return Int32Array.from(contexts);
}
