/**
 * Many minutes of mixed work against a real `up`: memories come, are filled, asked and deleted. Resident memory of every process
 * and the memory of Redis must not grow with the number of jobs. What is kept of an ended job for an hour is kept for seconds
 * here, so that minutes show what hours would.
 */
import { setTimeout as pause } from "node:timers/promises";
import { Redis } from "ioredis";
import { startRedis } from "../../test/support/redis.js";
import type { Bench, BenchContext, BenchReport } from "../bench.js";
import { sentences } from "../engine/sentences.js";
import { roundTo } from "../metrics/statistics.js";
import { startEspalier, type Espalier } from "../process/espalier.js";
import { residentMemory } from "../process/resident-memory.js";

const MINUTES = 10;
/** Clients that each go through the life of one memory after another. */
const CLIENTS = 8;
const NODES = 5;
/** Of a life: most of them structural, so that what is measured is jobs and not the model. */
const QUERIES = 200;
const LEXICAL_EVERY = 4;
const HYBRID_EVERY = 50;
const SAMPLE_MS = 2_000;
const KEEP_MS = 10_000;
/** Of the samples: code is compiled, caches and heaps find their size. */
const WARM_UP = 0.3;
const MEBIBYTE = 1024 ** 2;
/** Half a million jobs a day: a process that grows no faster can go for months. */
const GOAL_MIB_PER_MILLION = 50;

interface Sample {
  readonly seconds: number;
  readonly jobs: number;
  /** MiB by process. */
  readonly memory: Readonly<Record<string, number>>;
}

export const soak: Bench = {
  name: "soak",
  summary: "memory of the processes and of Redis under minutes of mixed work",
  minutes: `how long (default ${MINUTES})`,
  run: async (context) => {
    const redis = await startRedis();
    const espalier = await startEspalier({ REDIS_URL: `unix://${redis.address}` });
    const connection = new Redis({ path: redis.address });
    try {
      const { samples, errors } = await measure({ espalier, redis: connection }, context);
      return report(samples, errors);
    } finally {
      connection.disconnect();
      await espalier.stop();
      await redis.close();
    }
  },
};

interface System {
  readonly espalier: Espalier;
  readonly redis: Redis;
}

async function measure(system: System, context: BenchContext) {
  const minutes = context.minutes ?? MINUTES;
  const texts = await sentences(CLIENTS * 1_000);
  const started = performance.now();
  const over = (): boolean => performance.now() - started > minutes * 60_000;
  const count = { jobs: 0, errors: 0 };
  const clients = Array.from({ length: CLIENTS }, async (_, client) => {
    for (let life = 0; !over(); life += 1) {
      const own = Array.from(
        { length: NODES },
        (__, node) => texts[(client * 1_000 + life * NODES + node) % texts.length] ?? "",
      );
      await liveOnce(system.espalier, own, count).catch(() => (count.errors += 1));
    }
  });
  const samples: Sample[] = [];
  while (!over()) {
    await pause(SAMPLE_MS);
    await shortenRetention(system.redis);
    const seconds = Math.round((performance.now() - started) / 1_000);
    samples.push({ seconds, jobs: count.jobs, memory: await memoryOf(system) });
    if (samples.length % 15 === 0) context.progress(`soak: ${seconds} s, ${count.jobs} jobs, ${count.errors} errors`);
  }
  await Promise.all(clients);
  return { samples, errors: count.errors };
}

/** A memory from its making to its end. */
async function liveOnce(espalier: Espalier, texts: readonly string[], count: { jobs: number }): Promise<void> {
  const { id } = (await espalier.post("/v1/memories", { name: "soak" })) as { readonly id: string };
  await espalier.post(`/v1/memories/${id}/insert`, {
    tree: texts.map((text) => ({ type: "Note", attributes: { text } })),
  });
  count.jobs += 1;
  for (let query = 0; query < QUERIES; query += 1) {
    const asked = texts[query % texts.length]?.slice(0, 40).replaceAll(/["\\]/g, " ") ?? "";
    const scored = query % LEXICAL_EVERY === 0;
    const text = scored ? `//Note[node~="${asked}"]` : "//Note[3]";
    await espalier.post(`/v1/memories/${id}/query`, {
      query: text,
      scorer: query % HYBRID_EVERY === 0 ? "hybrid" : "lexical",
      topK: 5,
    });
    count.jobs += 1;
  }
  const { status } = await espalier.connection.send("DELETE", `/v1/memories/${id}`);
  if (status >= 300) throw new Error(`a memory was not deleted: ${status}`);
}

/** Ended jobs live for KEEP_MS from the first look at them on. */
async function shortenRetention(redis: Redis): Promise<void> {
  for await (const keys of redis.scanStream({ match: "espalier:*:status:*", count: 1_000 }) as AsyncIterable<
    string[]
  >) {
    const states = await Promise.all(keys.map((key) => redis.hget(key, "finishedAt")));
    const ended = keys.filter((_, index) => typeof states[index] === "string");
    const both = ended.flatMap((key) => [key, key.replace(":status:", ":events:")]);
    // LT: a key that lives shorter already is left alone.
    await Promise.all(both.map((key) => redis.pexpire(key, KEEP_MS, "LT")));
  }
}

async function memoryOf({ espalier, redis }: System): Promise<Readonly<Record<string, number>>> {
  const processes = (await residentMemory(espalier.pid)) ?? [];
  const used = /^used_memory:(\d+)/m.exec(await redis.info("memory"))?.[1];
  return {
    ...Object.fromEntries(processes.map(({ command, mebibytes }) => [command, mebibytes])),
    "Redis (used_memory)": Number(used) / MEBIBYTE,
  };
}

interface Growth {
  readonly name: string;
  /** MiB from the lowest sample of one half to that of the other. */
  readonly mebibytes: number;
  readonly perMillion: number;
}

/** Memory goes up until garbage is collected and down again: what stays is seen where it is lowest. */
function growthOf(name: string, earlier: readonly Sample[], later: readonly Sample[]): Growth {
  const lowest = (samples: readonly Sample[]): number => Math.min(...samples.map(({ memory }) => memory[name] ?? 0));
  const jobs = (later[0]?.jobs ?? 0) - (earlier[0]?.jobs ?? 0);
  const mebibytes = lowest(later) - lowest(earlier);
  return { name, mebibytes: roundTo(mebibytes, 1), perMillion: Math.round((mebibytes * 1e6) / jobs) };
}

function report(samples: readonly Sample[], errors: number): BenchReport {
  const warm = samples.slice(Math.floor(samples.length * WARM_UP));
  const [first, last] = [warm[0], warm.at(-1)];
  const names = Object.keys(last?.memory ?? {});
  const half = Math.floor(warm.length / 2);
  const growth = names.map((name) => growthOf(name, warm.slice(0, half), warm.slice(half)));
  const jobs = last?.jobs ?? 0;
  const worst = growth.toSorted((one, other) => other.perMillion - one.perMillion)[0];
  const at = (sample: Sample | undefined, name: string): string => (sample?.memory[name] ?? 0).toFixed(0);
  return {
    tables: [
      {
        title: `Memory over ${last?.seconds ?? 0} s and ${jobs} jobs (MiB)`,
        columns: ["process", "first sample", "after warm-up", "at the end", "growth", "growth per million jobs"],
        rows: growth.map(({ name, mebibytes, perMillion }) => [
          name,
          at(samples[0], name),
          at(first, name),
          at(last, name),
          mebibytes,
          perMillion,
        ]),
      },
    ],
    goals: [
      {
        what: `largest growth (${worst?.name ?? ""})`,
        ...{ goal: `<= ${GOAL_MIB_PER_MILLION} MiB per million jobs`, measured: `${worst?.perMillion ?? 0} MiB` },
        met: (worst?.perMillion ?? Infinity) <= GOAL_MIB_PER_MILLION,
      },
      { what: "errors", goal: "0", measured: String(errors), met: errors === 0 },
    ],
    notes: [
      `Growth is from the lowest sample of one half to that of the other, without the first ${WARM_UP * 100} % of them.`,
      `The status of an ended job was kept for ${KEEP_MS / 1_000} s instead of an hour.`,
    ],
    figures: { jobs, errors, growth, samples },
  };
}
