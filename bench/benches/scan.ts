/**
 * `//Turn[node~="x"]`, top 10, in memories of 1,000 to 100,000 turns, warm, against the raw scan: dot products over all
 * vectors in one array of this process, measured in turns with the queries. Texts are real, vectors synthetic (384
 * dimensions): what a query vector costs the model is not part of it, and a vector's meaning costs nothing to scan.
 */
import type { MemoryScope } from "#core";
import type { ScorerName } from "#memory";
import type { Bench, BenchContext, BenchReport } from "../bench.js";
import type { Engine } from "../engine/engine.js";
import { hashedModel, unitVector } from "../engine/hashed-model.js";
import { openEngine } from "../engine/open-engine.js";
import { rawTopK } from "../engine/raw-scan.js";
import { CONDITIONS, sentences } from "../engine/sentences.js";
import { turnQuery } from "../engine/turn-query.js";
import { latency, type Latency } from "../metrics/statistics.js";

const SIZES = [1_000, 10_000, 100_000] as const;
const DIMENSION = 384;
const TOP = 10;
const ROUNDS = 60;
const WARM_UP = 10;
/** Turns of one session, and of one insert (under the limit of nodes of an insert). */
const SESSION_TURNS = 100;
const INSERT_TURNS = 20_000;
const SCORERS = ["similarity", "hybrid"] as const satisfies readonly ScorerName[];

const GOAL_P95_MS = 50;
const GOAL_RATIO = 2;

interface SizeResult {
  readonly size: number;
  readonly raw: Latency;
  readonly byScorer: Readonly<Record<(typeof SCORERS)[number], Latency>>;
}

export const scan: Bench = {
  name: "scan",
  summary: "top 10 of 1k to 100k nodes by similarity and hybrid, against the raw vector scan",
  limit: "nodes of the largest memory",
  run: async (context) => {
    const sizes = SIZES.filter((size) => size <= (context.limit ?? Infinity));
    const engine = await openEngine({ model: hashedModel(DIMENSION) });
    try {
      const results: SizeResult[] = [];
      for (const size of sizes) results.push(await measure(engine, size, context));
      return report(results);
    } finally {
      await engine.close();
    }
  },
};

async function measure(engine: Engine, size: number, context: BenchContext): Promise<SizeResult> {
  const texts = await sentences(size);
  context.progress(`scan: inserting ${size} turns`);
  const scope = await engine.createMemory(`scan ${size}`, "conversation", { Turn: "{text}" });
  for (let at = 0; at < size; at += INSERT_TURNS) {
    const messages = texts.slice(at, at + INSERT_TURNS).map((text, index) => ({
      ...{ speaker: "Ann", text },
      session: `s${Math.floor((at + index) / SESSION_TURNS)}`,
    }));
    await engine.insert(scope, { conversation: "c", messages });
  }
  const vectors = new Float32Array(size * DIMENSION);
  for (const [index, text] of texts.entries()) vectors.set(unitVector(text, DIMENSION), index * DIMENSION);

  context.progress(`scan: querying ${size} turns`);
  const raw: number[] = [];
  const times = { similarity: [] as number[], hybrid: [] as number[] };
  for (let round = -WARM_UP; round < ROUNDS; round += 1) {
    const condition = CONDITIONS[(round + WARM_UP) % CONDITIONS.length] ?? "";
    const rawMs = timed(() => rawTopK(vectors, unitVector(condition, DIMENSION), TOP));
    if (round >= 0) raw.push(rawMs);
    for (const scorer of SCORERS) {
      const queryMs = await query(engine, scope, { condition, scorer });
      if (round >= 0) times[scorer].push(queryMs);
    }
  }
  return {
    size,
    raw: latency(raw),
    byScorer: { similarity: latency(times.similarity), hybrid: latency(times.hybrid) },
  };
}

async function query(
  engine: Engine,
  scope: MemoryScope,
  { condition, scorer }: { readonly condition: string; readonly scorer: ScorerName },
): Promise<number> {
  const started = performance.now();
  const { rows } = await engine.query(scope, { query: turnQuery(condition), scorer, topK: TOP });
  const milliseconds = performance.now() - started;
  if (rows.length !== TOP) throw new Error(`expected ${TOP} rows, got ${rows.length}`);
  return milliseconds;
}

function timed(work: () => unknown): number {
  const started = performance.now();
  work();
  return performance.now() - started;
}

function report(results: readonly SizeResult[]): BenchReport {
  const largest = results.at(-1);
  const complete = largest?.size === SIZES.at(-1);
  return {
    tables: [
      {
        title: `//Turn[node~="…"], top ${TOP}, ${ROUNDS} queries each (ms)`,
        columns: ["turns", "what", "p50", "p95", "p95 / raw p95"],
        rows: results.flatMap(({ size, raw, byScorer }) => [
          [size, "raw scan", raw.p50, raw.p95, "1.00"],
          ...SCORERS.map((scorer) => [
            size,
            scorer,
            byScorer[scorer].p50,
            byScorer[scorer].p95,
            (byScorer[scorer].p95 / raw.p95).toFixed(2),
          ]),
        ]),
      },
    ],
    goals:
      largest === undefined || !complete
        ? []
        : SCORERS.flatMap((scorer) => {
            const { p95 } = largest.byScorer[scorer];
            const ratio = p95 / largest.raw.p95;
            return [
              {
                what: `${scorer} p95 at ${largest.size}`,
                goal: `<= ${GOAL_P95_MS} ms`,
                measured: `${p95.toFixed(1)} ms`,
                met: p95 <= GOAL_P95_MS,
              },
              {
                what: `${scorer} p95 against the raw scan at ${largest.size}`,
                goal: `<= ${GOAL_RATIO}x`,
                measured: `${ratio.toFixed(2)}x`,
                met: ratio <= GOAL_RATIO,
              },
            ];
          }),
    notes: complete ? [] : ["The largest memory did not run: the goals are for it."],
    figures: { results },
  };
}
