import { isDescendantPath, type NodeFilter } from "#core";
import {
  holds,
  selectPositions,
  type EvidencePath,
  type EvidenceRequest,
  type EvidenceRow,
  type RelevanceSource,
  type RunRow,
  type ScoringTrace,
  type StructuralRun,
  type StructuralStep,
  type StructureSource,
} from "#query";
import { hashedRelevance, textOf, type RelevanceFunction } from "./relevance-function.js";
import { descendantsOf, type TestNode } from "./tree.js";

/** The reference of the structure port, over a tree in memory; counts its calls. */
export class ArrayStructureSource implements StructureSource {
  readonly runs: StructuralRun[] = [];
  readonly evidences: EvidenceRequest[] = [];
  readonly #nodes: readonly TestNode[];

  constructor(private readonly root: TestNode) {
    this.#nodes = descendantsOf(root);
  }

  async run(run: StructuralRun): ReturnType<StructureSource["run"]> {
    this.runs.push(run);
    let set = new Map<TestNode, number>(
      run.contexts === "root"
        ? [[this.root, 1]]
        : run.contexts.map(({ id, weight }) => [this.#byId(id), weight] as const),
    );
    for (const step of run.steps) set = applyStep(step, set, this.#nodes);
    const rows: RunRow[] = [...set]
      .slice(0, run.limit)
      .map(([node, weight]) => ({ ...rowOf(node, run.values), weight }));
    return { rows, trace: { statement: "arrays", rows: rows.length, milliseconds: 0 } };
  }

  async evidence(request: EvidenceRequest): ReturnType<StructureSource["evidence"]> {
    this.evidences.push(request);
    const rows: EvidenceRow[] = [];
    request.contexts.forEach(({ id }, context) => {
      request.paths.forEach((path, index) => {
        for (const chain of chainsOf(path, this.#byId(id), this.#nodes)) {
          rows.push({ context, path: index, chain: chain.map((node) => rowOf(node, request.values)) });
        }
      });
    });
    // Document order of the chains across contexts, as one statement without grouping gives it.
    const placeOf = ({ chain }: EvidenceRow): string => chain.map(({ key }) => key.pathKey).join("/");
    rows.sort((a, b) => (placeOf(a) < placeOf(b) ? -1 : 1));
    return { rows, trace: { statement: "arrays", rows: rows.length, milliseconds: 0 } };
  }

  #byId(id: string): TestNode {
    const node = this.#nodes.find(({ key }) => key.id === id);
    if (node === undefined) throw new Error(`no node ${id}`);
    return node;
  }
}

function rowOf({ key, attributes, metadata }: TestNode, values: boolean): Omit<RunRow, "weight"> {
  return values ? { key, attributes, metadata } : { key };
}

/** One structural step from a weighted set, in document order. */
function applyStep(
  step: StructuralStep,
  set: ReadonlyMap<TestNode, number>,
  nodes: readonly TestNode[],
): Map<TestNode, number> {
  const reached = new Map<TestNode, number>();
  for (const [context, weight] of set) {
    for (const node of step.axis === "child" ? context.children : descendantsOf(context)) {
      if (step.type === undefined || step.type === node.key.type) {
        reached.set(node, Math.max(weight, reached.get(node) ?? 0));
      }
    }
  }
  const ordered = nodes.filter((node) => reached.has(node));
  const { start, end } = selectPositions(step.position, ordered.length);
  const kept = ordered.slice(start, end).filter((node) => step.comparisons.every((one) => holds(one, node)));
  return new Map(kept.map((node) => [node, reached.get(node) ?? 0]));
}

/** The distinct chains of kept nodes by which a path reaches its evidence from one context. */
function chainsOf(path: EvidencePath, context: TestNode, nodes: readonly TestNode[]): readonly TestNode[][] {
  let set: ReadonlyMap<TestNode, number> = new Map([[context, 1]]);
  let chains = new Map<TestNode, TestNode[][]>([[context, [[]]]]);
  path.steps.forEach((step, at) => {
    const after = applyStep(step, set, nodes);
    const next = new Map<TestNode, TestNode[][]>();
    for (const node of after.keys()) {
      const ways = new Map<string, TestNode[]>();
      for (const [before, beforeChains] of chains) {
        const below = step.axis === "child" ? before.children : descendantsOf(before);
        if (!below.includes(node)) continue;
        for (const chain of beforeChains) {
          const longer = path.keep[at] === true ? [...chain, node] : chain;
          ways.set(longer.map(({ key }) => key.id).join(), longer);
        }
      }
      next.set(node, [...ways.values()]);
    }
    set = after;
    chains = next;
  });
  return [...chains.values()].flat();
}

const NOTHING: ScoringTrace = {
  modelCalls: 0,
  batchSizes: [],
  cacheHits: 0,
  computed: 0,
  refused: 0,
  milliseconds: 0,
  approximate: false,
};

/** The reference of the relevance port over a tree in memory; counts its calls. */
export class ArrayRelevanceSource implements RelevanceSource {
  readonly requests: Parameters<RelevanceSource["relevance"]>[0][] = [];
  readonly searches: Parameters<RelevanceSource["topK"]>[0][] = [];
  readonly pushesDown: boolean;
  readonly #nodes: ReadonlyMap<string, TestNode>;
  readonly #relevance: RelevanceFunction;

  constructor(root: TestNode, options: { readonly pushesDown?: boolean; readonly relevance?: RelevanceFunction } = {}) {
    this.pushesDown = options.pushesDown ?? true;
    this.#relevance = options.relevance ?? hashedRelevance;
    this.#nodes = new Map(descendantsOf(root).map((node) => [node.key.id, node]));
  }

  async relevance(request: Parameters<RelevanceSource["relevance"]>[0]): ReturnType<RelevanceSource["relevance"]> {
    this.requests.push(request);
    const values = Float64Array.from(request.candidates, ({ id }) => this.#value(id, request));
    return { values, trace: NOTHING };
  }

  async topK(request: Parameters<RelevanceSource["topK"]>[0]): ReturnType<RelevanceSource["topK"]> {
    this.searches.push(request);
    const rows = [...this.#nodes.values()]
      .filter(({ key }) => request.filter.type === undefined || key.type === request.filter.type)
      .filter(({ key }) => within(key, request.filter.scope))
      .map(({ key }) => ({ key, value: Math.round(this.#value(key.id, request) * 1e6) / 1e6 }))
      .filter(({ value }) => value > 0)
      .sort((a, b) => b.value - a.value || (a.key.pathKey < b.key.pathKey ? -1 : 1));
    return { rows: rows.slice(0, request.limit), trace: NOTHING };
  }

  #value(id: string, { field, text }: { readonly field: string; readonly text: string }): number {
    const node = this.#nodes.get(id);
    return node === undefined ? 0 : this.#relevance(textOf(node, field), text);
  }
}

function within(key: TestNode["key"], scope: NodeFilter["scope"]): boolean {
  return scope.kind === "descendants"
    ? scope.of.some((ancestor) => isDescendantPath(key.pathKey, ancestor))
    : scope.of.includes(key.parentId);
}
