/** Many clients at once: queries of every kind over HTTP, none of which may fail. */
import type { Bench, BenchContext, BenchReport } from "../bench.js";
import { EXAMPLES, readExample } from "../engine/examples.js";
import { load } from "../http/load.js";
import { latency, type Latency } from "../metrics/statistics.js";
import { distributedMissing, startDistributed } from "../process/distributed.js";
import { startEspalier, type Espalier } from "../process/espalier.js";

const AT_ONCE = 100;
const CALLS = 3_000;
const WARM_UP = 100;

/** By what they do. */
const QUERIES = [
  { what: "structural", query: "//*[2]" },
  { what: "lexical", query: '//*[node~="dinner by the river"]', scorer: "lexical" },
  { what: "similarity", query: '//*[node~="a quiet place to eat"]', scorer: "similarity" },
  { what: "hybrid", query: '//*[node~="things to prepare"]', scorer: "hybrid" },
  { what: "evidence of children", query: '//*[avg(/*[node~="museum"])]', scorer: "hybrid" },
] as const;

interface Answered {
  readonly what: string;
  readonly latency: Latency;
}

export const concurrency: Bench = {
  name: "concurrency",
  summary: `${AT_ONCE} queries at once over HTTP: errors and times`,
  limit: "calls",
  profiles: true,
  run: async (context) => {
    const missing = context.profile === "distributed" ? distributedMissing() : undefined;
    if (missing !== undefined) return { skipped: missing };
    const espalier = await (context.profile === "distributed" ? startDistributed() : startEspalier());
    try {
      return await measure(espalier, context);
    } finally {
      await espalier.stop();
    }
  },
};

async function measure(espalier: Espalier, { limit, profile, progress }: BenchContext): Promise<BenchReport> {
  const memories: string[] = [];
  for (const name of EXAMPLES) memories.push(await espalier.createMemory(name, "artifact", await readExample(name)));
  const times = new Map<string, number[]>(QUERIES.map(({ what }) => [what, []]));
  const failures = new Map<number, number>();
  let number = 0;
  const ask = async (): Promise<void> => {
    const asked = QUERIES[number % QUERIES.length] ?? QUERIES[0];
    const memory = memories[Math.floor(number / QUERIES.length) % memories.length] ?? "";
    number += 1;
    const { what, ...body } = asked;
    const started = performance.now();
    const { status } = await espalier.connection.send("POST", `/v1/memories/${memory}/query`, body);
    if (status !== 200) {
      failures.set(status, (failures.get(status) ?? 0) + 1);
      throw new Error(`${what} answered ${status}`);
    }
    times.get(what)?.push(performance.now() - started);
  };
  progress("concurrency: warming up");
  await load(ask, { concurrency: 10, count: WARM_UP });
  for (const all of times.values()) all.length = 0;
  progress(`concurrency: ${AT_ONCE} at once`);
  const { errors, perSecond } = await load(ask, { concurrency: AT_ONCE, count: limit ?? CALLS });
  for (const memory of memories) await espalier.connection.send("DELETE", `/v1/memories/${memory}`);
  const answered = Array.from(times, ([what, all]): Answered => ({ what, latency: latency(all) }));
  const told = [...failures].map(([status, count]) => `${count} answered ${status}`);
  return {
    tables: [
      {
        title: `${AT_ONCE} queries at once, ${perSecond} a second (ms)`,
        columns: ["queries", "calls", "p50", "p95", "p99"],
        rows: answered.map(({ what, latency: { count, p50, p95, p99 } }) => [what, count, p50, p95, p99]),
      },
    ],
    goals: [{ what: `errors at ${AT_ONCE}`, goal: "0", measured: String(errors), met: errors === 0 }],
    notes: told,
    figures: { profile, perSecond, errors, answered },
  };
}
