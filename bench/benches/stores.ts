/**
 * Stores by themselves: inserts, structural runs, evidence, the best ten and scores on SQLite and on Neo4j + Qdrant, in
 * memories of 1,000 to 1,000,000 nodes, each beside the same by hand over the engine's own driver in the same run.
 */
import type { Bench, BenchContext, BenchReport } from "../bench.js";
import { latency, roundTo } from "../metrics/statistics.js";
import type { Comparison } from "../stores/comparison.js";
import { growMemory, type Insert, warmUp } from "../stores/grow-memory.js";
import type { GrownTree } from "../stores/grow-tree.js";
import { openNeo4jEngine } from "../stores/neo4j-engine.js";
import { openSqliteEngine } from "../stores/sqlite-engine.js";
import type { StoreEngine } from "../stores/store-engine.js";
import { type StoreRead, storeReads } from "../stores/store-reads.js";
import { storeSearches } from "../stores/store-searches.js";

const SIZES = [1_000, 10_000, 100_000, 1_000_000] as const;
/** Without `--limit`: a million nodes take Neo4j minutes to write. */
const DEFAULT_LIMIT = 100_000;
const CONTEXTS = 500;
/** Milliseconds of writing, and of each read, before times are taken: programs and servers that translate as they run begin slowly. */
const WRITES_WARM_UP_MS = 15_000;
const READ_WARM_UP_MS = 2_000;
const ROUNDS = 30;
/** Milliseconds after which a read of very many rows is not repeated, once it was four times. */
const ENOUGH_MS = 5_000;
const GOAL_RATIO = 1.3;
/** Of the turns of a round: the same is asked of both twice, with the other one first, and the next round begins with the other one. */
const ORDERS = [
  ["own", "byHand", "byHand", "own"],
  ["byHand", "own", "own", "byHand"],
] as const;

interface ReadResult {
  readonly read: string;
  readonly rows: number;
  readonly milliseconds: number;
  readonly rawMilliseconds: number;
  readonly ratio: number;
  readonly rowsPerSecond: number;
  readonly note?: string;
}

interface InsertResult {
  readonly what: Insert["what"];
  readonly perSecond: number;
  readonly rawPerSecond: number;
  readonly ratio: number;
}

interface EngineResult {
  readonly engine: string;
  readonly nodes: number;
  readonly inserts: readonly InsertResult[];
  /** Whether the indexes held all vectors when they were searched. */
  readonly settled: boolean;
  readonly reads: readonly ReadResult[];
}

export const stores: Bench = {
  name: "stores",
  summary:
    "stores beside queries by hand: structural runs, evidence, top 10 and insert rates on SQLite and Neo4j + Qdrant",
  limit: `nodes of the largest memory (default ${DEFAULT_LIMIT}, up to 1000000)`,
  run: async (context) => {
    const servers = await openNeo4jEngine();
    const engines = [await openSqliteEngine(), ...(servers === undefined ? [] : [servers])];
    try {
      const results: EngineResult[] = [];
      for (const engine of engines) await warmUp(engine, WRITES_WARM_UP_MS);
      for (const size of SIZES.filter((nodes) => nodes <= (context.limit ?? DEFAULT_LIMIT))) {
        for (const engine of engines) results.push(await measure(engine, size, context));
      }
      return report(results, notesOn(servers, results));
    } finally {
      await Promise.all(engines.map((engine) => engine.close()));
    }
  },
};

async function measure(engine: StoreEngine, size: number, context: BenchContext): Promise<EngineResult> {
  context.progress(`stores: ${engine.name}, ${size} nodes`);
  const { tree, points, ...grown } = await growMemory(engine, size);
  const inserts = grown.inserts.map(insertResult);
  for (const { what, perSecond, ratio } of inserts) context.progress(`  ${what}: ${perSecond}/s, ${ratio}x`);
  try {
    const reads: ReadResult[] = [];
    for (const read of storeReads(tree.boxes.slice(0, CONTEXTS))) {
      reads.push(await compare(engine, comparisonOf(engine, tree, read), context));
    }
    const searches = points && engine.search ? await storeSearches(engine.search, tree, points) : [];
    for (const search of searches) reads.push(await compare(engine, search, context));
    return { engine: engine.name, nodes: tree.nodes, inserts, settled: points?.settled ?? true, reads };
  } finally {
    await engine.tree.deleteMemory(tree.scope);
  }
}

function insertResult({ what, count, own, byHand }: Insert): InsertResult {
  const rateOf = (milliseconds: number): number => Math.round(count / (milliseconds / 1_000));
  return { what, perSecond: rateOf(own), rawPerSecond: rateOf(byHand), ratio: roundTo(own / byHand, 2) };
}

/** Store and driver take turns, so that what else the machine does and what either leaves behind meets both. */
async function compare(engine: StoreEngine, comparison: Comparison, { progress }: BenchContext): Promise<ReadResult> {
  const { name, note } = comparison;
  let rows = 0;
  let times: Record<"own" | "byHand", number[]> = { own: [], byHand: [] };
  const turns = async (round: number): Promise<void> => {
    const counts = new Set<number>();
    for (const who of ORDERS[round % 2] ?? []) {
      const before = performance.now();
      counts.add(await comparison[who](round));
      times[who].push(performance.now() - before);
    }
    if (counts.size > 1) throw new Error(`${engine.name}: ${name} gave ${[...counts].join(" and ")} rows`);
    [rows = 0] = counts;
  };
  const started = performance.now();
  for (let round = 0; performance.now() - started < READ_WARM_UP_MS; round += 1) await turns(round);
  times = { own: [], byHand: [] };
  const warm = performance.now();
  for (let round = 0; 2 * round < ROUNDS && (round < 2 || performance.now() - warm < ENOUGH_MS); round += 1) {
    await turns(round);
  }
  const [milliseconds, rawMilliseconds] = [latency(times.own).p50, latency(times.byHand).p50];
  const ratio = roundTo(milliseconds / rawMilliseconds, 2);
  progress(`  ${name}: ${rows} rows, ${milliseconds} ms, ${ratio}x${note === undefined ? "" : ` (${note})`}`);
  const rowsPerSecond = Math.round((rows / milliseconds) * 1_000);
  return { read: name, rows, milliseconds, rawMilliseconds, ratio, rowsPerSecond, ...(note !== undefined && { note }) };
}

function comparisonOf(engine: StoreEngine, { scope, revision }: GrownTree, read: StoreRead): Comparison {
  const { tree } = engine;
  return {
    name: read.name,
    own: async () => {
      const { rows } =
        read.kind === "run"
          ? await tree.run(scope, revision, { contexts: "root", steps: read.steps, values: false })
          : await tree.evidence(scope, revision, read.request);
      return rows.length;
    },
    byHand: () => engine.raw(scope, read.raw),
  };
}

function notesOn(servers: StoreEngine | undefined, results: readonly EngineResult[]): readonly string[] {
  const missing =
    servers === undefined
      ? ["Neo4j and Qdrant did not run: NEO4J_URI is not set."]
      : servers.search === undefined
        ? ["Qdrant did not run: QDRANT_URL is not set."]
        : [];
  const unsettled = results
    .filter(({ settled }) => !settled)
    .map(({ engine, nodes }) => `${engine} was still building its graphs of ${nodes} nodes when it was searched.`);
  const told = results.flatMap(({ engine, nodes, reads }) =>
    reads.flatMap(({ read, note }) => (note === undefined ? [] : [`${engine}, ${nodes} nodes, ${read}: ${note}`])),
  );
  return [...missing, ...unsettled, ...told];
}

function report(results: readonly EngineResult[], notes: readonly string[]): BenchReport {
  const names = [...new Set(results.map(({ engine }) => engine))];
  return {
    tables: [
      {
        title: "Insert rates (nodes/s: states, indexes and counts of schema and terms; then their vectors/s)",
        columns: ["store", "nodes", "nodes/s", "by hand", "ratio", "vectors/s", "by hand", "ratio"],
        rows: results.map(({ engine, nodes, inserts }) => [
          ...[engine, nodes],
          ...inserts.flatMap(({ perSecond, rawPerSecond, ratio }) => [perSecond, rawPerSecond, `${ratio}x`]),
        ]),
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
    goals: names.flatMap((name) => goalsOf(name, results)),
    notes,
    figures: { results },
  };
}

/** The largest ratio of an engine's reads, and that of what it inserts. */
function goalsOf(name: string, results: readonly EngineResult[]): BenchReport["goals"] {
  const ratios = results
    .filter(({ engine }) => engine === name)
    .flatMap(({ nodes, reads, inserts }) => [
      ...reads.map(({ read, ratio }) => ({ kind: "a query", of: `${read}, ${nodes} nodes`, ratio })),
      ...inserts.map(({ what, ratio }) => ({ kind: `an insert of ${what}`, of: `${nodes} nodes`, ratio })),
    ]);
  return Array.from(
    Map.groupBy(ratios, ({ kind }) => kind),
    ([kind, own]) => {
      const worst = own.toSorted((one, other) => other.ratio - one.ratio)[0];
      return {
        what: `${name}: largest ratio to ${kind} by hand (${worst?.of ?? ""})`,
        goal: `<= ${GOAL_RATIO}x`,
        measured: `${worst?.ratio ?? 0}x`,
        met: (worst?.ratio ?? Infinity) <= GOAL_RATIO,
      };
    },
  );
}
