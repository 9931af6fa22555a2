/**
 * Tree stores by themselves: insert rate, structural runs and evidence on SQLite and Neo4j, in memories of 1,000 to 1,000,000
 * nodes, each beside a query by hand over the engine's own driver in the same run.
 */
import type { Bench, BenchContext, BenchReport } from "../bench.js";
import { latency, roundTo } from "../metrics/statistics.js";
import { type GrownTree, growTree } from "../stores/grow-tree.js";
import { openNeo4jEngine } from "../stores/neo4j-engine.js";
import { openSqliteEngine } from "../stores/sqlite-engine.js";
import { type StoreRead, storeReads } from "../stores/store-reads.js";
import type { TreeEngine } from "../stores/tree-engine.js";

const SIZES = [1_000, 10_000, 100_000, 1_000_000] as const;
/** Without `--limit`: a million nodes take Neo4j minutes to write. */
const DEFAULT_LIMIT = 100_000;
const CONTEXTS = 500;
const WARM_UP = 5;
const ROUNDS = 30;
/** Milliseconds after which a read of very many rows is not repeated, once it was three times. */
const ENOUGH_MS = 5_000;
const GOAL_RATIO = 1.3;

interface ReadResult {
  readonly read: string;
  readonly rows: number;
  readonly milliseconds: number;
  readonly rawMilliseconds: number;
  readonly ratio: number;
  readonly rowsPerSecond: number;
}

interface EngineResult {
  readonly engine: string;
  readonly nodes: number;
  readonly insertedPerSecond: number;
  readonly reads: readonly ReadResult[];
}

export const stores: Bench = {
  name: "stores",
  summary: "tree stores beside queries by hand: structural runs, evidence and insert rate on SQLite and Neo4j",
  limit: `nodes of the largest memory (default ${DEFAULT_LIMIT}, up to 1000000)`,
  run: async (context) => {
    const neo4j = await openNeo4jEngine();
    const engines = [await openSqliteEngine(), ...(neo4j === undefined ? [] : [neo4j])];
    try {
      const results: EngineResult[] = [];
      for (const size of SIZES.filter((nodes) => nodes <= (context.limit ?? DEFAULT_LIMIT))) {
        for (const engine of engines) results.push(await measure(engine, size, context));
      }
      const notes = neo4j === undefined ? ["Neo4j did not run: NEO4J_URI is not set."] : [];
      return report(results, notes);
    } finally {
      await Promise.all(engines.map((engine) => engine.close()));
    }
  },
};

async function measure(engine: TreeEngine, size: number, { progress }: BenchContext): Promise<EngineResult> {
  progress(`stores: ${engine.name}, ${size} nodes`);
  const grown = await growTree(engine.tree, size);
  try {
    const reads: ReadResult[] = [];
    for (const read of storeReads(grown.boxes.slice(0, CONTEXTS))) reads.push(await measureRead(engine, grown, read));
    return { engine: engine.name, nodes: grown.nodes, insertedPerSecond: grown.nodesPerSecond, reads };
  } finally {
    await engine.tree.deleteMemory(grown.scope);
  }
}

/** Store and driver take turns, so that what else the machine does meets both. */
async function measureRead(engine: TreeEngine, grown: GrownTree, read: StoreRead): Promise<ReadResult> {
  const [own, raw]: [number[], number[]] = [[], []];
  let rows = 0;
  const started = performance.now();
  for (let round = -WARM_UP; round < ROUNDS; round += 1) {
    const before = performance.now();
    rows = await rowsOf(engine, grown, read);
    const between = performance.now();
    const byHand = await engine.raw(grown.scope, read.raw);
    const after = performance.now();
    if (rows !== byHand) throw new Error(`${engine.name}: ${read.name} gave ${rows} rows, by hand ${byHand}`);
    if (round < 0) continue;
    own.push(between - before);
    raw.push(after - between);
    if (own.length >= 3 && after - started > ENOUGH_MS) break;
  }
  const [milliseconds, rawMilliseconds] = [latency(own).p50, latency(raw).p50];
  return {
    ...{ read: read.name, rows, milliseconds, rawMilliseconds, ratio: roundTo(milliseconds / rawMilliseconds, 2) },
    rowsPerSecond: Math.round((rows / milliseconds) * 1_000),
  };
}

async function rowsOf({ tree }: TreeEngine, { scope, revision }: GrownTree, read: StoreRead): Promise<number> {
  const { rows } =
    read.kind === "run"
      ? await tree.run(scope, revision, { contexts: "root", steps: read.steps, values: false })
      : await tree.evidence(scope, revision, read.request);
  return rows.length;
}

function report(results: readonly EngineResult[], notes: readonly string[]): BenchReport {
  const names = [...new Set(results.map(({ engine }) => engine))];
  return {
    tables: [
      {
        title: "Insert rate (nodes/s; states, indexes and schema counts, no vectors)",
        columns: ["store", "nodes", "nodes/s"],
        rows: results.map(({ engine, nodes, insertedPerSecond }) => [engine, nodes, insertedPerSecond]),
      },
      {
        title: `Reads, median of at most ${ROUNDS} (ms)`,
        columns: ["store", "nodes", "read", "rows", "store ms", "by hand ms", "ratio", "rows/s"],
        rows: results.flatMap(({ engine, nodes, reads }) =>
          reads.map((read) => [
            ...[engine, nodes, read.read, read.rows, read.milliseconds.toFixed(2), read.rawMilliseconds.toFixed(2)],
            ...[`${read.ratio}x`, read.rowsPerSecond],
          ]),
        ),
      },
    ],
    goals: names.map((name) => goalOf(name, results)),
    notes,
    figures: { results },
  };
}

function goalOf(name: string, results: readonly EngineResult[]): BenchReport["goals"][number] {
  const reads = results
    .filter(({ engine }) => engine === name)
    .flatMap(({ reads: of, nodes }) => of.map((read) => ({ ...read, nodes })));
  const worst = reads.toSorted((one, other) => other.ratio - one.ratio)[0];
  return {
    what: `${name}: largest ratio to a query by hand (${worst?.read ?? ""}, ${worst?.nodes ?? 0} nodes)`,
    goal: `<= ${GOAL_RATIO}x`,
    measured: `${worst?.ratio ?? 0}x`,
    met: (worst?.ratio ?? Infinity) <= GOAL_RATIO,
  };
}
