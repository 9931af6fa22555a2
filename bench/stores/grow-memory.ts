import { latency } from "../metrics/statistics.js";
import type { Times } from "./copy-by-hand.js";
import { growPoints, type GrownPoints } from "./grow-points.js";
import { growTree, type GrownTree } from "./grow-tree.js";
import type { StoreEngine } from "./store-engine.js";

/** Memories of one size are made until they have so many nodes together: what is over in a moment is measured often. */
const NODES = 100_000;
const MOST = 20;
/** Of a memory that is made to warm up. */
const WARM_UP_NODES = 1_000;

/** A memory that is there, with what was measured of it and of those of its size that were made before and removed. */
export interface GrownMemory {
  readonly tree: GrownTree;
  /** Absent where the engine has no vectors. */
  readonly points?: GrownPoints & { readonly settled: boolean };
  readonly inserts: readonly Insert[];
}

/** What was inserted, and how long that took at the median of its rounds. */
export interface Insert {
  readonly what: "nodes" | "vectors";
  readonly count: number;
  /** Milliseconds. */
  readonly own: number;
  readonly byHand: number;
}

/** Makes memories of about `size` nodes and copies of them by hand, and leaves the last memory. */
export async function growMemory(engine: StoreEngine, size: number): Promise<GrownMemory> {
  const rounds = Math.min(MOST, Math.max(1, Math.round(NODES / size)));
  const [trees, vectors]: [Times[], Times[]] = [[], []];
  for (;;) {
    const { tree, points } = await growWithCopy(engine, size);
    trees.push(tree.times);
    if (points !== undefined) vectors.push(points.times);
    if (trees.length < rounds) {
      await engine.tree.deleteMemory(tree.scope);
      continue;
    }
    const inserts = [
      insertOf("nodes", tree.nodes, trees),
      ...(points === undefined ? [] : [insertOf("vectors", tree.items.length, vectors)]),
    ];
    const settled = (await engine.search?.settled()) ?? true;
    return { tree, inserts, ...(points !== undefined && { points: { ...points, settled } }) };
  }
}

/** Makes memories and removes them for so long, so that what is measured next is not an engine's first. */
export async function warmUp(engine: StoreEngine, milliseconds: number): Promise<void> {
  const started = performance.now();
  while (performance.now() - started < milliseconds) {
    const { tree } = await growWithCopy(engine, WARM_UP_NODES);
    await engine.tree.deleteMemory(tree.scope);
  }
}

async function growWithCopy(
  engine: StoreEngine,
  size: number,
): Promise<{ readonly tree: GrownTree; readonly points: GrownPoints | undefined }> {
  // What a memory that is gone, or the one that grows, left to do would fall upon who writes first.
  await settle(engine);
  const tree = await growTree(engine, size);
  try {
    await tree.copy.check();
    await settle(engine);
    const points = engine.search && (await growPoints(engine.search, tree));
    await tree.copy.check();
    return { tree, points };
  } catch (error) {
    await engine.tree.deleteMemory(tree.scope);
    throw error;
  } finally {
    await tree.copy.remove();
  }
}

async function settle({ name, search }: StoreEngine): Promise<void> {
  if ((await search?.settled()) === false) throw new Error(`${name} does not come to rest before an insert`);
}

function insertOf(what: Insert["what"], count: number, times: readonly Times[]): Insert {
  const medianOf = (of: (one: Times) => number): number => latency(times.map(of)).p50;
  return { what, count, own: medianOf(({ own }) => own), byHand: medianOf(({ byHand }) => byHand) };
}
