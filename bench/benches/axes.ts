/**
 * Structural queries that return 100 rows, in memories of 1,000 to 1,000,000 nodes: the time must hardly grow. The tree is
 * Root -> Shelf -> Box -> Item, 100 items in a box; the first shelf also holds 100 Labels in every memory.
 */
import { mean } from "simple-statistics";
import type { MemoryScope } from "#core";
import type { Bench, BenchContext, BenchReport } from "../bench.js";
import type { Engine } from "../engine/engine.js";
import { hashedModel } from "../engine/hashed-model.js";
import { openEngine } from "../engine/open-engine.js";
import { latency, roundTo, type Latency } from "../metrics/statistics.js";

const SIZES = [1_000, 10_000, 100_000, 1_000_000] as const;
const ROWS = 100;
const LABELS = 100;
const BOX_ITEMS = 100;
/** Vectors are not read by structural runs: small ones keep the largest memory on any disk. */
const DIMENSION = 8;
/** Boxes of one insert: stays under the limit of 50,000 nodes. */
const INSERT_BOXES = 400;
const WARM_UP = 10;
const ROUNDS = 100;
const GOAL_GROWTH = 1.5;

/** Each returns 100 rows in every memory. */
const QUERIES = [
  "//Label",
  "//Box[3]/Item",
  "//Shelf[1]//Label",
  "//Item[1:100]",
  "//Item[-100:]",
  "/Root/*/Box[5]//*",
];

interface SizeResult {
  readonly nodes: number;
  readonly byQuery: readonly { readonly query: string; readonly latency: Latency }[];
}

export const axes: Bench = {
  name: "axes",
  summary: "structural queries of 100 rows in memories of 1k to 1M nodes",
  limit: "nodes of the largest memory",
  run: async (context) => {
    const engine = await openEngine({ model: hashedModel(DIMENSION) });
    try {
      const results: SizeResult[] = [];
      for (const size of SIZES.filter((nodes) => nodes <= (context.limit ?? Infinity))) {
        const scope = await build(engine, size, context);
        results.push(await measure(engine, scope, size));
      }
      return report(results);
    } finally {
      await engine.close();
    }
  },
};

/** A memory of about `size` nodes: all of them Items but for the levels above and 100 Labels on the first shelf. */
async function build(engine: Engine, size: number, context: BenchContext): Promise<MemoryScope> {
  const scope = await engine.createMemory(`axes ${size}`, "artifact");
  const root = await engine.insert(scope, { tree: { type: "Root" } });
  const boxes = Math.max(5, Math.round((size - LABELS) / (BOX_ITEMS + 1)));
  for (let from = 0; from < boxes; from += INSERT_BOXES) {
    context.progress(`axes: ${size} nodes, ${Math.round((100 * from) / boxes)} %`);
    const count = Math.min(INSERT_BOXES, boxes - from);
    const children = Array.from({ length: count }, (_, index) => box(from + index));
    if (from === 0) children.push(...Array.from({ length: LABELS }, (_, index) => label(index)));
    await engine.insert(scope, { tree: { type: "Shelf", children }, ...underFirst(root.roots) });
  }
  return scope;
}

function underFirst(roots: readonly string[]): { readonly under?: string } {
  return roots[0] === undefined ? {} : { under: roots[0] };
}

interface Branch {
  readonly type: string;
  readonly attributes: Readonly<Record<string, string | number>>;
  readonly children?: readonly Branch[];
}

function box(number: number): Branch {
  const children = Array.from({ length: BOX_ITEMS }, (_, index) => ({
    type: "Item",
    attributes: { name: `item ${number}-${index}`, weight: index },
  }));
  return { type: "Box", attributes: { name: `box ${number}` }, children };
}

function label(number: number): Branch {
  return { type: "Label", attributes: { name: `label ${number}` } };
}

async function measure(engine: Engine, scope: MemoryScope, nodes: number): Promise<SizeResult> {
  const byQuery: { query: string; latency: Latency }[] = [];
  for (const query of QUERIES) {
    const times: number[] = [];
    for (let round = -WARM_UP; round < ROUNDS; round += 1) {
      const started = performance.now();
      const { rows } = await engine.query(scope, { query, topK: ROWS });
      if (round >= 0) times.push(performance.now() - started);
      if (rows.length !== ROWS) throw new Error(`${query} gave ${rows.length} rows of ${nodes} nodes, not ${ROWS}`);
    }
    byQuery.push({ query, latency: latency(times) });
  }
  return { nodes, byQuery };
}

function report(results: readonly SizeResult[]): BenchReport {
  const [smallest, largest] = [results[0], results.at(-1)];
  const growth = QUERIES.map((query, index) => ({
    query,
    factor: roundTo(p50(largest, index) / p50(smallest, index), 2),
  }));
  const worst = growth.toSorted((one, other) => other.factor - one.factor)[0];
  const complete = largest !== undefined && largest.nodes === SIZES.at(-1);
  return {
    tables: [
      {
        title: `Structural queries of ${ROWS} rows, median of ${ROUNDS} (ms)`,
        columns: ["query", ...results.map(({ nodes }) => `${nodes} nodes`), "growth"],
        rows: QUERIES.map((query, index) => [
          query,
          ...results.map((result) => p50(result, index).toFixed(2)),
          `${growth[index]?.factor ?? 0}x`,
        ]),
      },
    ],
    goals: complete
      ? [
          {
            what: `largest growth from ${smallest?.nodes ?? 0} to ${largest.nodes} nodes (${worst?.query ?? ""})`,
            goal: `<= ${GOAL_GROWTH}x`,
            measured: `${worst?.factor ?? 0}x`,
            met: (worst?.factor ?? Infinity) <= GOAL_GROWTH,
          },
        ]
      : [],
    notes: complete ? [] : ["The largest memory did not run: the goal is for it."],
    figures: { results, growth, meanGrowth: roundTo(mean(growth.map(({ factor }) => factor)), 2) },
  };
}

function p50(result: SizeResult | undefined, index: number): number {
  return result?.byQuery[index]?.latency.p50 ?? Number.NaN;
}
