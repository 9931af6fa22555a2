import type { MemoryScope, NodeState } from "#core";
import type { ChangeSet, LexicalIndex, Memory, NewMemory, NewState } from "#memory";
import type { Comparison, Position, StructuralStep } from "#query";
import type { Embedding } from "#scoring";
import type { CacheLimits, Stores } from "../stores.js";

/** Opens fresh, empty stores of the adapter under test. */
export type OpenEmpty = (cacheLimits?: CacheLimits) => Promise<Stores>;

export const TENANT = "default";
export const MODEL = "model-1";
export const SCOPE: MemoryScope = { tenant: TENANT, memory: "mem_1" };

export function newMemory(id: string, changes: Partial<NewMemory> = {}): NewMemory {
  return {
    id,
    name: `name of ${id}`,
    labels: {},
    structure: "artifact",
    templates: {},
    scoring: { scorer: "hybrid", a: 0.4, entailmentTemplate: "This is about {}." },
    embeddingModel: MODEL,
    createdAt: 1_000,
    ...changes,
  };
}

/** A state by path key (`a0.a1`); its id is `nod_` and the key, its parent the node above. */
export function state(pathKey: string, type: string, changes: Partial<NewState> = {}): NewState {
  const keys = pathKey.split(".");
  return {
    id: `nod_${pathKey}`,
    type,
    parentId: keys.length === 1 ? null : `nod_${keys.slice(0, -1).join(".")}`,
    pathKey,
    depth: keys.length,
    attributes: { name: `${type} ${pathKey}` },
    metadata: {},
    text: `text of ${pathKey}`,
    tokens: 3,
    ...changes,
  };
}

let steps = 0;

/** A change set on a revision, with an inbox step of its own and nothing in it but what is given. */
export function change(baseRevision: number, changes: Partial<ChangeSet> = {}): ChangeSet {
  steps += 1;
  return {
    baseRevision,
    inbox: { job: `job_${steps}`, step: "insert" },
    message: "insert",
    author: "someone",
    time: 2_000 + baseRevision,
    states: [],
    ends: [],
    vectors: [],
    terms: [],
    result: null,
    ...changes,
  };
}

/** A unit vector. */
export function unit(...numbers: readonly number[]): Float32Array {
  const length = Math.hypot(...numbers);
  return Float32Array.from(numbers, (number) => number / length);
}

export function embedding(...numbers: readonly number[]): Embedding {
  return { vector: unit(...numbers), windowed: false };
}

export function step(
  axis: StructuralStep["axis"],
  type?: string,
  position?: Position,
  comparisons: readonly Comparison[] = [],
): StructuralStep {
  return { axis, type, position, comparisons };
}

export const index = (at: number): Position => ({ kind: "index", index: at });

export const range = (from?: number, to?: number): Position => ({ kind: "range", from, to });

export function comparison(name: string, operator: Comparison["operator"], value: string | number): Comparison {
  return { kind: "comparison", name, operator, value };
}

/** Makes a memory (SCOPE) and commits the states as its first revision. */
export async function grow(
  stores: Stores,
  states: readonly NewState[],
  changes: Partial<ChangeSet> = {},
  scope: MemoryScope = SCOPE,
): Promise<Memory> {
  await stores.tree.createMemory(scope.tenant, newMemory(scope.memory));
  await stores.tree.commit(scope, change(0, { states, ...changes }));
  return stores.tree.getMemory(scope);
}

/** Indexes an attribute field. Answers the number of pages. */
export async function indexWhole(
  index: Pick<LexicalIndex, "indexPage">,
  scope: MemoryScope,
  field: string,
): Promise<number> {
  let pages = 1;
  while (!(await index.indexPage(scope, field))) pages += 1;
  return pages;
}

/** The code of the error that a call ends with. */
export async function codeOf(call: Promise<unknown>): Promise<string> {
  try {
    await call;
    return "no error";
  } catch (error) {
    return (error as { readonly code?: string }).code ?? String(error);
  }
}

export const idsOf = (nodes: readonly Pick<NodeState, "id">[]): readonly string[] => nodes.map(({ id }) => id);
