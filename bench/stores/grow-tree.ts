import { generateKeyBetween, generateNKeysBetween } from "fractional-indexing";
import { type MemoryScope, PATH_SEPARATOR, randomId } from "#core";
import type { NewState, TreeStore } from "#memory";
import type { RawContext } from "./tree-engine.js";

const TENANT = "default";
const LABELS = 100;
const BOX_ITEMS = 100;
const SHELF_BOXES = 100;
/** States of one change set: stays under the limit of 50,000. */
const CHANGE_STATES = 20_000;

/** A memory that was made, and how fast. */
export interface GrownTree {
  readonly scope: MemoryScope;
  readonly revision: number;
  readonly nodes: number;
  readonly boxes: readonly RawContext[];
  readonly nodesPerSecond: number;
}

/** Makes a memory of about `size` nodes, Root -> Shelf -> Box -> Item, by change sets without vectors and terms. */
export async function growTree(tree: TreeStore, size: number): Promise<GrownTree> {
  const scope = { tenant: TENANT, memory: randomId("mem") };
  await tree.createMemory(TENANT, {
    ...{ id: scope.memory, name: `stores ${size}`, labels: {}, structure: "artifact", templates: {}, createdAt: 0 },
    ...{ scoring: { scorer: "lexical", a: 0, entailmentTemplate: "" }, embeddingModel: "none" },
  });
  const states = treeStates(size);
  const started = performance.now();
  let revision = 0;
  for (let from = 0; from < states.length; from += CHANGE_STATES) {
    const committed = await tree.commit(scope, {
      ...{ baseRevision: revision, message: "grow", author: "bench", time: revision },
      ...{ inbox: { job: scope.memory, step: String(from) }, result: null },
      ...{ states: states.slice(from, from + CHANGE_STATES), ends: [], vectors: [], terms: [] },
    });
    revision = committed.revision;
  }
  const seconds = (performance.now() - started) / 1_000;
  const boxes = states.filter(({ type }) => type === "Box").map(({ id, pathKey }) => ({ id, pathKey }));
  return { scope, revision, nodes: states.length, boxes, nodesPerSecond: Math.round(states.length / seconds) };
}

/** Parents precede children. */
function treeStates(size: number): readonly NewState[] {
  const states: NewState[] = [];
  const add = (type: string, parent: NewState | undefined, key: string): NewState => {
    const added: NewState = {
      ...{ id: randomId("nod"), type, parentId: parent?.id ?? null, depth: (parent?.depth ?? 0) + 1 },
      pathKey: parent === undefined ? key : `${parent.pathKey}${PATH_SEPARATOR}${key}`,
      attributes: { name: `${type} ${states.length}`, weight: states.length },
      ...{ metadata: {}, text: `${type} number ${states.length}`, tokens: 3 },
    };
    states.push(added);
    return added;
  };
  const root = add("Root", undefined, generateKeyBetween(null, null));
  const boxes = Math.max(5, Math.round((size - LABELS) / (BOX_ITEMS + 1)));
  const shelves = generateNKeysBetween(null, null, Math.ceil(boxes / SHELF_BOXES));
  const boxKeys = generateNKeysBetween(null, null, SHELF_BOXES + LABELS);
  const itemKeys = generateNKeysBetween(null, null, BOX_ITEMS);
  for (const [number, shelfKey] of shelves.entries()) {
    const shelf = add("Shelf", root, shelfKey);
    if (number === 0) for (const key of boxKeys.slice(0, LABELS)) add("Label", shelf, key);
    const count = Math.min(SHELF_BOXES, boxes - number * SHELF_BOXES);
    for (const key of boxKeys.slice(LABELS, LABELS + count)) {
      const box = add("Box", shelf, key);
      for (const itemKey of itemKeys) add("Item", box, itemKey);
    }
  }
  return states;
}
