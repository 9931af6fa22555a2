/**
 * What a query costs beside its evaluation: the HTTP query job, the same evaluation in this process, and the raw limit in
 * the same run, a bare Fastify + BullMQ + Redis hash + pub/sub echo that returns the same bytes. Rounds alternate between
 * the two servers, so that a slow minute of the machine meets both.
 */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { startRedis } from "../../test/support/redis.js";
import type { Bench, BenchContext, BenchReport, Goal } from "../bench.js";
import { openEngine } from "../engine/open-engine.js";
import { readExample, type Example } from "../engine/examples.js";
import { connect, type Connection } from "../http/connection.js";
import { load, type LoadResult } from "../http/load.js";
import { latency, roundTo, type Latency } from "../metrics/statistics.js";
import { startChild } from "../process/child.js";
import { startEspalier, type Espalier } from "../process/espalier.js";

const MEMORY: Example = "acl-trip";
const QUERY = { query: "//Day[2]/Restaurant" };
const CONCURRENCIES = [1, 16, 100] as const;
const CALLS = 2_000;
/** Of CALLS; the rest of a round is the other server's. */
const ROUNDS = 4;
const WARM_UP = 300;

const GOAL_RATIO = 2;
const GOAL_P50_MS = 3;
const GOAL_LAG_P99_MS = 30;

interface Level {
  readonly concurrency: number;
  readonly espalier: Latency;
  readonly echo: Latency;
  readonly espalierPerSecond: number;
  readonly echoPerSecond: number;
  readonly errors: number;
  /** p99 of the API's event-loop lag during the level, in milliseconds. */
  readonly lagP99: number;
}

export const queryOverhead: Bench = {
  name: "query-overhead",
  summary: "HTTP query jobs against the evaluation in process and a bare queue echo",
  limit: "calls of each level",
  run: async (context) => {
    const calls = context.limit ?? CALLS;
    context.progress("query-overhead: in process");
    const inProcess = await measureInProcess(calls);
    const espalier = await startEspalier();
    try {
      const id = await espalier.createMemory(MEMORY, "artifact", await readExample(MEMORY));
      const ask = asker(espalier.connection, `/v1/memories/${id}/query`);
      const answer = await espalier.connection.send("POST", `/v1/memories/${id}/query`, QUERY);
      const echo = await startEcho(answer.body);
      try {
        const levels = await measureLevels({ espalier, ask, echo: asker(echo.connection, "/") }, calls, context);
        return report(inProcess, levels);
      } finally {
        await echo.stop();
      }
    } finally {
      await espalier.stop();
    }
  },
};

async function measureInProcess(calls: number): Promise<Latency> {
  const engine = await openEngine();
  try {
    const scope = await engine.createMemory(MEMORY, "artifact");
    await engine.insert(scope, await readExample(MEMORY));
    const ask = (): Promise<unknown> => engine.query(scope, QUERY);
    await load(ask, { concurrency: 1, count: WARM_UP });
    return latency((await load(ask, { concurrency: 1, count: calls })).milliseconds);
  } finally {
    await engine.close();
  }
}

/** A call that rejects unless it is answered with 200. */
function asker(connection: Connection, path: string): () => Promise<void> {
  return async () => {
    const { status, body } = await connection.send("POST", path, QUERY);
    if (status !== 200) throw new Error(`answered ${status}: ${body}`);
  };
}

/** Redis, API and worker of the echo: as many processes as ours has for queries. */
async function startEcho(answer: string): Promise<{ readonly connection: Connection; stop(): Promise<void> }> {
  const redis = await startRedis();
  const file = join(redis.address, "..", "answer.json");
  await writeFile(file, answer);
  const worker = await startChild("dist/bench/echo/echo-worker.js", [redis.address, file]);
  const api = await startChild("dist/bench/echo/echo-api.js", [redis.address]);
  const connection = connect(/url=(\S+)/.exec(api.ready)?.[1] ?? "");
  return {
    connection,
    stop: async () => {
      connection.close();
      await Promise.all([api.stop(), worker.stop()]);
      await redis.close();
    },
  };
}

interface Servers {
  readonly espalier: Espalier;
  readonly ask: () => Promise<void>;
  readonly echo: () => Promise<void>;
}

async function measureLevels(servers: Servers, calls: number, context: BenchContext): Promise<readonly Level[]> {
  for (const call of [servers.ask, servers.echo]) await load(call, { concurrency: 16, count: WARM_UP });
  const levels: Level[] = [];
  for (const concurrency of CONCURRENCIES) {
    context.progress(`query-overhead: ${concurrency} at once`);
    levels.push(await measureLevel(servers, concurrency, calls));
  }
  return levels;
}

async function measureLevel({ espalier, ask, echo }: Servers, concurrency: number, calls: number): Promise<Level> {
  const ours: LoadResult[] = [];
  const theirs: LoadResult[] = [];
  const lags: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const part = { concurrency, count: Math.ceil(calls / ROUNDS) };
    theirs.push(await load(echo, part));
    // Reading the metrics starts a new interval of the lag's histogram.
    await readLag(espalier);
    ours.push(await load(ask, part));
    lags.push(await readLag(espalier));
  }
  const times = (results: readonly LoadResult[]): Latency =>
    latency(results.flatMap(({ milliseconds }) => milliseconds));
  const perSecond = (results: readonly LoadResult[]): number =>
    Math.round(results.reduce((sum, result) => sum + result.perSecond, 0) / results.length);
  return {
    concurrency,
    espalier: times(ours),
    echo: times(theirs),
    espalierPerSecond: perSecond(ours),
    echoPerSecond: perSecond(theirs),
    errors: [...ours, ...theirs].reduce((sum, { errors }) => sum + errors, 0),
    lagP99: roundTo(Math.max(...lags), 2),
  };
}

/** p99 of the API's event-loop lag since the last reading, in milliseconds. */
async function readLag({ connection }: Espalier): Promise<number> {
  const { body } = await connection.send("GET", "/metrics");
  const values = [...body.matchAll(/^nodejs_eventloop_lag_p99_seconds(?:\{([^}]*)\})? ([\d.e+-]+)/gm)];
  const api = values.find(([, labels]) => labels === undefined || labels.includes('"api"')) ?? values[0];
  if (api === undefined) throw new Error("/metrics does not tell the event-loop lag");
  return Number(api[2]) * 1_000;
}

function report(inProcess: Latency, levels: readonly Level[]): BenchReport {
  const ratio = (level: Level): number => level.espalier.p50 / level.echo.p50;
  return {
    tables: [
      {
        title: `${QUERY.query} on ${MEMORY} (ms); in process: p50 ${inProcess.p50}, p99 ${inProcess.p99}`,
        columns: ["at once", "what", "p50", "p95", "p99", "per second", "p50 / echo", "p50 - in process", "lag p99"],
        rows: levels.flatMap((level) => [
          [level.concurrency, "echo", ...quantiles(level.echo), level.echoPerSecond, "1.00", "", ""],
          [
            ...[level.concurrency, "query job", ...quantiles(level.espalier), level.espalierPerSecond],
            ...[ratio(level).toFixed(2), (level.espalier.p50 - inProcess.p50).toFixed(2), level.lagP99],
          ],
        ]),
      },
    ],
    goals: levels.flatMap((level) => goalsOf(level, ratio(level))),
    notes: ["The echo returns the bytes of the query's answer, without checks, keys, store or evaluation."],
    figures: { inProcess, levels },
  };
}

function quantiles({ p50, p95, p99 }: Latency): readonly number[] {
  return [p50, p95, p99];
}

function goalsOf(level: Level, ratio: number): readonly Goal[] {
  const at = `at ${level.concurrency}`;
  return [
    {
      what: `p50 against the echo ${at}`,
      goal: `<= ${GOAL_RATIO}x`,
      measured: `${ratio.toFixed(2)}x`,
      met: ratio <= GOAL_RATIO,
    },
    ...(level.concurrency === 1
      ? [
          {
            what: `p50 ${at}`,
            goal: `<= ${GOAL_P50_MS} ms`,
            measured: `${level.espalier.p50.toFixed(2)} ms`,
            met: level.espalier.p50 <= GOAL_P50_MS,
          },
        ]
      : []),
    { what: `errors ${at}`, goal: "0", measured: String(level.errors), met: level.errors === 0 },
    {
      what: `event-loop lag p99 of the API ${at}`,
      goal: `<= ${GOAL_LAG_P99_MS} ms`,
      measured: `${level.lagP99} ms`,
      met: level.lagP99 <= GOAL_LAG_P99_MS,
    },
  ];
}
