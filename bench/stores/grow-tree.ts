import { generateKeyBetween, generateNKeysBetween } from "fractional-indexing";
import { type MemoryScope, PATH_SEPARATOR, randomId } from "#core";
import type { NewState } from "#memory";
import { type StateRef, termWeights } from "#scoring";
import { hashedModel } from "../engine/hashed-model.js";
import { sentences } from "../engine/sentences.js";
import { millisecondsOf } from "../metrics/milliseconds-of.js";
import { chunksOf } from "./chunks-of.js";
import type { CopyByHand, Times } from "./copy-by-hand.js";
import type { RawContext, StoreEngine } from "./store-engine.js";

const TENANT = "default";
const LABELS = 100;
const BOX_ITEMS = 100;
const SHELF_BOXES = 100;
/** States of one change set: stays under the limit of 50,000. */
const CHANGE_STATES = 20_000;
/** Items beyond so many repeat the texts of others. */
const TEXTS = 100_000;
/** Share of similarity in hybrid scores. */
export const HYBRID_A = 0.4;

/** Of every memory that is made here: synthetic vectors, as long as those of the default model. */
export const BENCH_MODEL = hashedModel(384);

/** A memory that was made, and how long that took. */
export interface GrownTree {
  readonly scope: MemoryScope;
  readonly revision: number;
  readonly nodes: number;
  readonly boxes: readonly RawContext[];
  /** In document order; they alone have a text. */
  readonly items: readonly StateRef[];
  readonly times: Times;
  /** To be removed once the memory is whole. */
  readonly copy: CopyByHand;
}

/**
 * Makes a memory of about `size` nodes, Root -> Shelf -> Box -> Item, by change sets with terms and without vectors. A change
 * set is made when its turn has come, outside the time that is taken, and then written again by hand.
 */
export async function growTree({ tree, beginCopy }: StoreEngine, size: number): Promise<GrownTree> {
  const scope = { tenant: TENANT, memory: randomId("mem") };
  await tree.createMemory(TENANT, {
    ...{ id: scope.memory, name: `stores ${size}`, labels: {}, structure: "artifact", templates: {}, createdAt: 0 },
    ...{ scoring: { scorer: "hybrid", a: HYBRID_A, entailmentTemplate: "" }, embeddingModel: BENCH_MODEL.id },
  });
  const texts = await sentences(Math.min(size, TEXTS));
  const [boxes, items]: [RawContext[], StateRef[]] = [[], []];
  const copy = await beginCopy(scope);
  let [revision, nodes, own, byHand] = [0, 0, 0, 0];
  for (const states of chunksOf(treeStates(size, texts), CHANGE_STATES)) {
    const texted = states.filter(({ text }) => text !== "");
    const terms = texted.map(({ id, text }) => ({ id, field: "", weights: termWeights(text) }));
    const change = {
      ...{ baseRevision: revision, message: "grow", author: "bench", time: revision },
      ...{ inbox: { job: scope.memory, step: String(revision) }, result: null },
      ...{ states, ends: [], vectors: [], terms },
    };
    own += await millisecondsOf(async () => {
      ({ revision } = await tree.commit(scope, change));
    });
    byHand += await copy.writeChange(revision);
    nodes += states.length;
    for (const { id, type, pathKey } of states) {
      if (type === "Box") boxes.push({ id, pathKey });
      if (type === "Item") items.push({ id, born: revision });
    }
  }
  return { scope, revision, nodes, boxes, items, times: { own, byHand }, copy };
}

/** Parents precede children. */
function* treeStates(size: number, texts: readonly string[]): Generator<NewState> {
  let count = 0;
  const make = (type: string, parent: NewState | undefined, key: string, text = ""): NewState => {
    count += 1;
    return {
      ...{ id: randomId("nod"), type, parentId: parent?.id ?? null, depth: (parent?.depth ?? 0) + 1 },
      pathKey: parent === undefined ? key : `${parent.pathKey}${PATH_SEPARATOR}${key}`,
      attributes: { name: `${type} ${count}`, weight: count },
      ...{ metadata: {}, text, tokens: Math.ceil(text.length / 4) },
    };
  };
  const root = make("Root", undefined, generateKeyBetween(null, null));
  yield root;
  const boxes = Math.max(5, Math.round((size - LABELS) / (BOX_ITEMS + 1)));
  const shelves = generateNKeysBetween(null, null, Math.ceil(boxes / SHELF_BOXES));
  const boxKeys = generateNKeysBetween(null, null, SHELF_BOXES + LABELS);
  const itemKeys = generateNKeysBetween(null, null, BOX_ITEMS);
  for (const [number, shelfKey] of shelves.entries()) {
    const shelf = make("Shelf", root, shelfKey);
    yield shelf;
    if (number === 0) for (const key of boxKeys.slice(0, LABELS)) yield make("Label", shelf, key);
    const inShelf = Math.min(SHELF_BOXES, boxes - number * SHELF_BOXES);
    for (const key of boxKeys.slice(LABELS, LABELS + inShelf)) {
      const box = make("Box", shelf, key);
      yield box;
      for (const itemKey of itemKeys) yield make("Item", box, itemKey, texts[count % texts.length]);
    }
  }
}
