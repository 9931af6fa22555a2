/**
 * How tenants share the workers: what nine small tenants wait beside the flood of another, against what they wait without it;
 * and what is served to tenants that always have work, equal ones and some with weights. Over real queues and workers whose
 * jobs only wait, so that what is measured is whose turn it is and not the machine.
 */
import { mean } from "simple-statistics";
import type { JobKind } from "#jobs";
import { startRedis } from "../../test/support/redis.js";
import type { Bench, BenchContext, BenchReport, Goal } from "../bench.js";
import { latency, roundTo, type Latency } from "../metrics/statistics.js";
import { jainIndex, servedCosts, smallTenantsWaits } from "../queues/fairness-runs.js";

const FLOOD = 6_000;
const SMALL = 9;
const EVERY_MS = 500;
/** Long against what a busy machine adds to it. */
const SERVICE_MS = 500;
/** Half as long as the flood lasts. */
const ALONE_MS = 30_000;
const ROUNDS = 2;
const KINDS = ["query", "insert"] as const satisfies readonly JobKind[];

const EQUAL = 10;
const WEIGHTS = { "weight-4": 4, "weight-2": 2, "weight-1": 1 };
const EQUAL_JOBS = 600;
const WEIGHTED_JOBS = 3_000;

const GOAL_JAIN = 0.95;
const GOAL_WEIGHTS = 0.05;

interface Waits {
  readonly kind: JobKind;
  readonly alone: Latency;
  readonly beside: Latency;
  /** Milliseconds of p95. */
  readonly growth: number;
}

interface Shares {
  readonly jain: number;
  /** Served cost by weight, over the mean of all; 1 is exact. */
  readonly weighted: Readonly<Record<string, number>>;
}

export const fairness: Bench = {
  name: "fairness",
  summary: "what small tenants wait beside a flood, and what is served to tenants with equal backlogs",
  limit: "jobs of the flood",
  run: async (context) => {
    const redis = await startRedis();
    try {
      const flood = context.limit ?? FLOOD;
      const waits: Waits[] = [];
      for (const kind of KINDS) waits.push(await measureWaits(redis.address, kind, flood, context));
      context.progress("fairness: served cost");
      return report(waits, await measureShares(redis.address), flood);
    } finally {
      await redis.close();
    }
  },
};

/** With and without the flood in turn, so that a slow minute of the machine meets both. */
async function measureWaits(redis: string, kind: JobKind, flood: number, context: BenchContext): Promise<Waits> {
  const [alone, beside]: [number[], number[]] = [[], []];
  const shared = { redis, kind, small: SMALL, everyMs: EVERY_MS, serviceMs: SERVICE_MS, forMs: ALONE_MS };
  for (let round = 1; round <= ROUNDS; round += 1) {
    context.progress(`fairness: ${kind} jobs, round ${round} of ${ROUNDS}`);
    alone.push(...(await smallTenantsWaits({ ...shared, prefix: `alone-${kind}-${round}`, flood: 0 })));
    beside.push(...(await smallTenantsWaits({ ...shared, prefix: `flood-${kind}-${round}`, flood })));
  }
  const [one, other] = [latency(alone), latency(beside)];
  return { kind, alone: one, beside: other, growth: roundTo(other.p95 - one.p95, 1) };
}

async function measureShares(redis: string): Promise<Shares> {
  const equal = Object.fromEntries(Array.from({ length: EQUAL }, (_, number) => [`ten_${number}`, 1]));
  const served = await servedCosts({ redis, prefix: "equal", weights: equal, jobs: EQUAL_JOBS });
  const weighted = await servedCosts({ redis, prefix: "weighted", weights: WEIGHTS, jobs: WEIGHTED_JOBS });
  const perWeight = Object.entries(WEIGHTS).map(
    ([name, weight]) => [name, (weighted.get(name) ?? 0) / weight] as const,
  );
  const middle = mean(perWeight.map(([, value]) => value));
  return {
    jain: roundTo(jainIndex([...served.values()]), 4),
    weighted: Object.fromEntries(perWeight.map(([name, value]) => [name, roundTo(value / middle, 4)])),
  };
}

function report(waits: readonly Waits[], shares: Shares, flood: number): BenchReport {
  const farthest = Math.max(...Object.values(shares.weighted).map((value) => Math.abs(value - 1)));
  const goals: readonly Goal[] = [
    ...waits.map(({ kind, growth }) => ({
      what: `growth of the small tenants' p95 wait, ${kind} jobs`,
      ...{ goal: `<= ${SERVICE_MS} ms (one service time)`, measured: `${growth} ms`, met: growth <= SERVICE_MS },
    })),
    {
      what: `Jain's index of ${EQUAL} equal tenants`,
      ...{ goal: `>= ${GOAL_JAIN}`, measured: shares.jain.toFixed(4), met: shares.jain >= GOAL_JAIN },
    },
    {
      what: "farthest from 4 : 2 : 1",
      ...{ goal: `<= ${GOAL_WEIGHTS * 100} %`, measured: `${(farthest * 100).toFixed(1)} %` },
      met: farthest <= GOAL_WEIGHTS,
    },
  ];
  return {
    tables: [
      {
        title: `Waits of ${SMALL} small tenants from submit to run (ms), beside ${flood} jobs of another; service time ${SERVICE_MS} ms`,
        columns: ["jobs", "flood", "samples", "p50", "p95", "max", "p95 growth"],
        rows: waits.flatMap(({ kind, alone, beside, growth }) => [
          [kind, "no", alone.count, alone.p50, roundTo(alone.p95, 1), alone.max, ""],
          [kind, "yes", beside.count, beside.p50, roundTo(beside.p95, 1), beside.max, growth],
        ]),
      },
      {
        title: "Cost served to tenants that always have work, over their weight (1 is exact)",
        columns: ["tenant", "served / weight"],
        rows: Object.entries(shares.weighted).map(([name, value]) => [name, value.toFixed(3)]),
      },
    ],
    goals,
    notes: [],
    figures: { flood, serviceMs: SERVICE_MS, waits, shares },
  };
}
