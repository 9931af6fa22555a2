/** Structural runs and evidence, step by step as the language page has them, over an array of nodes in document order. */
import { isDescendantPath } from "#core";
import {
  type EvidencePath,
  type EvidenceRequest,
  type EvidenceRow,
  holds,
  type RunRow,
  selectPositions,
  type StructuralRun,
  type StructuralStep,
} from "#query";
import { keptSteps, maximumChains, tooMuchEvidence } from "../evidence-limit.js";
import { byEvidence } from "../evidence-order.js";
import type { StoredState } from "./tables.js";

/** A context of a step: a node, or the virtual root. */
interface Context {
  readonly id: string | null;
  readonly pathKey: string;
}

const ROOT: Context = { id: null, pathKey: "" };

/** W of each step: every node with the largest weight of the contexts that reach it. */
export function run(
  states: readonly StoredState[],
  { contexts, steps, values, limit }: StructuralRun,
): readonly RunRow[] {
  let current: readonly { readonly context: Context; readonly weight: number }[] =
    contexts === "root"
      ? [{ context: ROOT, weight: 1 }]
      : contexts.map((context) => ({ context, weight: context.weight }));
  let found: readonly { readonly state: StoredState; readonly weight: number }[] = [];
  for (const step of steps) {
    const reached = states.flatMap((state) => {
      const weights = current.filter(({ context }) => reaches(step, context, state)).map(({ weight }) => weight);
      return weights.length === 0 ? [] : [{ state, weight: Math.max(...weights) }];
    });
    found = positioned(step, reached).filter(({ state }) => fulfils(step, state));
    current = found.map(({ state, weight }) => ({ context: state, weight }));
  }
  return found.slice(0, limit).map(({ state, weight }) => ({ ...rowOf(state, values), weight }));
}

/** All chains of all contexts and paths. */
export function evidence(states: readonly StoredState[], request: EvidenceRequest): readonly EvidenceRow[] {
  const maximum = maximumChains(request);
  const rows = request.contexts
    .flatMap((context, index) =>
      request.paths.flatMap((path, number) =>
        chains(states, context, path, maximum).map((chain) => ({
          context: index,
          path: number,
          chain: chain.map((state) => rowOf(state, request.values)),
        })),
      ),
    )
    .sort(byEvidence);
  if (rows.length > maximum) throw tooMuchEvidence();
  return rows;
}

interface Chain {
  readonly kept: readonly StoredState[];
  readonly end: Context;
}

function chains(
  states: readonly StoredState[],
  context: Context,
  path: EvidencePath,
  maximum: number,
): readonly (readonly StoredState[])[] {
  const kept = new Set(keptSteps(path));
  let current: readonly Chain[] = [{ kept: [], end: context }];
  for (const [index, step] of path.steps.entries()) {
    const keep = kept.has(index);
    const reached = states.filter((state) => current.some(({ end }) => reaches(step, end, state)));
    const nodes = positioned(step, reached).filter((state) => fulfils(step, state));
    current = distinct(
      current.flatMap(({ kept: above, end }) =>
        nodes
          .filter((state) => reaches(step, end, state))
          .map((state) => ({ kept: keep ? [...above, state] : above, end: state })),
      ),
    );
    if (current.length > maximum) throw tooMuchEvidence();
  }
  return current.map(({ kept }) => kept);
}

function distinct(chainsOf: readonly Chain[]): readonly Chain[] {
  return [
    ...new Map(
      chainsOf.map((chain) => [[...chain.kept, chain.end].map(({ id }) => id).join(), chain] as const),
    ).values(),
  ];
}

function reaches(step: StructuralStep, context: Context, state: StoredState): boolean {
  if (step.type !== undefined && state.type !== step.type) return false;
  return step.axis === "child" ? state.parentId === context.id : isDescendantPath(state.pathKey, context.pathKey);
}

function positioned<T>(step: StructuralStep, set: readonly T[]): readonly T[] {
  const { start, end } = selectPositions(step.position, set.length);
  return set.slice(start, end);
}

function fulfils(step: StructuralStep, state: StoredState): boolean {
  return step.comparisons.every((comparison) => holds(comparison, state));
}

function rowOf(state: StoredState, values: boolean): Omit<RunRow, "weight"> {
  const { id, born, type, parentId, pathKey, depth, attributes, metadata } = state;
  return { key: { id, born, type, parentId, pathKey, depth }, ...(values && { attributes, metadata }) };
}
