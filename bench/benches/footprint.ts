/** How long `up` takes to answer after the set-up, and how much memory its processes hold, idle and loaded. */
import type { Bench, BenchReport } from "../bench.js";
import { EXAMPLES, readExample } from "../engine/examples.js";
import { turnQuery } from "../engine/turn-query.js";
import { latency, roundTo, type Latency } from "../metrics/statistics.js";
import { startEspalier, type Espalier } from "../process/espalier.js";
import { residentMemory, type ProcessMemory } from "../process/resident-memory.js";

const STARTS = 5;
const QUERIES = 500;
const GOAL_READY_MS = 3_000;

export const footprint: Bench = {
  name: "footprint",
  summary: "start-up time, and resident memory idle and loaded",
  limit: "starts",
  run: async (context) => {
    const starts: number[] = [];
    for (let start = 1; start < (context.limit ?? STARTS); start += 1) {
      const once = await startEspalier();
      starts.push(once.readyMs);
      await once.stop();
    }
    const espalier = await startEspalier();
    try {
      starts.push(espalier.readyMs);
      const idle = await residentMemory(espalier.pid);
      context.progress("footprint: loading");
      await useIt(espalier);
      return report(latency(starts), idle, await residentMemory(espalier.pid));
    } finally {
      await espalier.stop();
    }
  },
};

/** All examples and many different queries, scored ones among them. */
async function useIt(espalier: Espalier): Promise<void> {
  for (const name of EXAMPLES) {
    const id = await espalier.createMemory(name, "artifact", await readExample(name));
    for (let query = 0; query < QUERIES / EXAMPLES.length; query += 1) {
      const text = turnQuery(`question ${query} about ${name}`).replace("//Turn", "//*");
      await espalier.post(`/v1/memories/${id}/query`, { query: text });
    }
  }
}

function report(
  starts: Latency,
  idle: readonly ProcessMemory[] | undefined,
  loaded: readonly ProcessMemory[] | undefined,
): BenchReport {
  const sum = (processes: readonly ProcessMemory[] | undefined): number =>
    (processes ?? []).reduce((total, { mebibytes }) => total + mebibytes, 0);
  return {
    tables: [
      {
        title: `Start to ready, ${starts.count} starts with an empty data folder (ms)`,
        columns: ["median", "max"],
        rows: [[Math.round(starts.p50), Math.round(starts.max)]],
      },
      {
        title: "Resident memory (MiB)",
        columns: ["process", "idle", "loaded"],
        rows: [
          ...(loaded ?? []).map(({ pid, command, mebibytes }) => [
            command,
            idle?.find((process) => process.pid === pid)?.mebibytes ?? "-",
            mebibytes,
          ]),
          ["all", sum(idle), sum(loaded)],
        ],
      },
    ],
    goals: [
      {
        what: "slowest start to ready",
        goal: `<= ${GOAL_READY_MS} ms`,
        measured: `${Math.round(starts.max)} ms`,
        met: starts.max <= GOAL_READY_MS,
      },
    ],
    notes: loaded === undefined ? ["Resident memory is read from /proc, which this system does not have."] : [],
    figures: { readyMs: roundTo(starts.max, 1), starts, idle, loaded },
  };
}
