/**
 * From the kill -9 of a worker to the next run of its job. Apart: on a worker of another machine, which sees that the job's
 * lock is no longer renewed. Under `up`: on the worker's successor, since the supervisor gives back what the dead one had.
 */
import { setTimeout as pause } from "node:timers/promises";
import { randomId, systemClock } from "#core";
import { createJobClient, QUEUE_SETTINGS } from "#jobs";
import { startRedis } from "../../test/support/redis.js";
import type { Bench, BenchContext, BenchReport, Goal } from "../bench.js";
import { sentences } from "../engine/sentences.js";
import { latency, type Latency } from "../metrics/statistics.js";
import { startChild } from "../process/child.js";
import { startEspalier, type Espalier } from "../process/espalier.js";
import { residentMemory } from "../process/resident-memory.js";
import { NO_PAYLOADS } from "../queues/no-payloads.js";

const KILLS = 20;
/** Between two kills, so that they fall anywhere between two looks for stalled jobs. */
const PACE_MS = 700;
const POLL_MS = 10;
/** Nodes of an insert that is under way when its worker dies: some seconds of embedding. */
const NODES = 1_500;
const { lockMs, stalledIntervalMs } = QUEUE_SETTINGS.insert;
const GOAL_APART_MS = lockMs + 2 * stalledIntervalMs;

export const takeover: Bench = {
  name: "takeover",
  summary: "from the kill -9 of a worker to the next run of its job",
  limit: "kills",
  run: async (context) => {
    const kills = context.limit ?? KILLS;
    const apart = latency(await takenOverApart(kills, context));
    const underUp = latency(await takenOverByUp(kills, context));
    return report(apart, underUp);
  },
};

/** Each victim has one job; all are killed within seconds, and one heir takes what they had. */
async function takenOverApart(kills: number, { progress }: BenchContext): Promise<readonly number[]> {
  const redis = await startRedis();
  await using opened = new AsyncDisposableStack();
  opened.defer(() => redis.close());
  const client = createJobClient({
    redis: redis.address,
    payloadStore: NO_PAYLOADS,
    clock: systemClock,
    ids: randomId,
  });
  opened.defer(() => client.close());
  const start = (concurrency: number) =>
    startChild("dist/bench/queues/takeover-worker.js", [redis.address, String(concurrency)]);
  const victims = [];
  for (let number = 0; number < kills; number += 1) {
    progress(`takeover: worker ${number + 1} of ${kills}`);
    const victim = await start(1);
    opened.defer(() => victim.kill());
    const begun = victim.line("begun");
    const { id } = await client.submit({ kind: "insert", tenant: "ten_bench", memory: randomId("mem"), payload: {} });
    if (!(await begun).includes(id)) throw new Error("a worker took another job than its own");
    victims.push({ victim, id });
  }
  const heir = await start(QUEUE_SETTINGS.insert.concurrency);
  opened.defer(() => heir.kill());
  const rerun = victims.map(({ id }) => heir.line(`begun ${id} `));
  const killed: number[] = [];
  for (const { victim } of victims) {
    progress(`takeover: ${killed.length} killed`);
    killed.push(Date.now());
    await victim.kill();
    await pause(PACE_MS);
  }
  progress("takeover: waiting for the heir");
  const begun = (await Promise.all(rerun)).map((line) => Number(line.split(" ")[3]));
  return begun.map((time, index) => time - (killed[index] ?? 0));
}

/** A fresh `up` for each kill: workers that die again and again are started with longer and longer pauses. */
async function takenOverByUp(kills: number, { progress }: BenchContext): Promise<readonly number[]> {
  const texts = await sentences(NODES);
  const times: number[] = [];
  for (let number = 0; number < kills; number += 1) {
    progress(`takeover: up ${number + 1} of ${kills}`);
    const espalier = await startEspalier();
    try {
      times.push(await killInserting(espalier, texts));
    } finally {
      await espalier.stop();
    }
  }
  return times;
}

async function killInserting(espalier: Espalier, texts: readonly string[]): Promise<number> {
  const { id: memory } = (await espalier.post("/v1/memories", { name: "takeover" })) as { readonly id: string };
  const { connection, pid } = espalier;
  const tree = texts.map((text) => ({ type: "Note", attributes: { text } }));
  const answer = await connection.send("POST", `/v1/memories/${memory}/insert`, { tree }, { prefer: "respond-async" });
  const { id } = JSON.parse(answer.body) as { readonly id: string };
  const attempts = async (): Promise<number> => {
    const { body } = await connection.send("GET", `/v1/jobs/${id}`);
    return (JSON.parse(body) as { readonly attempts: number }).attempts;
  };
  while ((await attempts()) < 1) await pause(POLL_MS);
  const worker = (await residentMemory(pid))?.find(({ command }) => command.includes("insert"));
  if (worker === undefined) throw new Error("the worker of inserts is not to be found in /proc");
  const killed = performance.now();
  process.kill(worker.pid, "SIGKILL");
  while ((await attempts()) < 2) await pause(POLL_MS);
  return performance.now() - killed;
}

function report(apart: Latency, underUp: Latency): BenchReport {
  const seconds = (milliseconds: number): string => (milliseconds / 1_000).toFixed(2);
  const row = (name: string, { count, p50, p95, max }: Latency) => [
    name,
    count,
    seconds(p50),
    seconds(p95),
    seconds(max),
  ];
  const goals: readonly Goal[] = [
    {
      what: "longest takeover by another worker",
      goal: `<= ${GOAL_APART_MS / 1_000} s (lock and two looks for stalled jobs)`,
      ...{ measured: `${seconds(apart.max)} s`, met: apart.max <= GOAL_APART_MS },
    },
  ];
  return {
    tables: [
      {
        title: "From kill -9 to the next run of the job (s)",
        columns: ["who takes over", "kills", "p50", "p95", "max"],
        rows: [row("another worker, by its lock", apart), row("the successor under `up`", underUp)],
      },
    ],
    goals,
    notes: [
      `A lock lasts ${lockMs / 1_000} s and is renewed at half of that; stalled jobs are looked for every ${stalledIntervalMs / 1_000} s.`,
    ],
    figures: { apart, underUp },
  };
}
