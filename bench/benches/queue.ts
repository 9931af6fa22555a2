/**
 * Jobs per second from submit to done: ours, through admission, status and records, against a bare BullMQ queue (`addBulk` and
 * a worker that does nothing) on the same Redis. Producer, worker and Redis are a process each. Rounds alternate, so that a
 * slow minute of the machine meets both.
 */
import { Queue } from "bullmq";
import type { Redis } from "ioredis";
import { median } from "simple-statistics";
import { randomId, systemClock } from "#core";
import { connectRedis, createJobClient, type JobClient, type JobKind } from "#jobs";
import { startRedis } from "../../test/support/redis.js";
import type { Bench, BenchContext, BenchReport } from "../bench.js";
import { load } from "../http/load.js";
import { startChild, type Child } from "../process/child.js";
import { NO_PAYLOADS } from "../queues/no-payloads.js";
import { RAW_PREFIX, RAW_QUEUE } from "../queues/queue-names.js";

const JOBS = 5_000;
const ROUNDS = 7;
const TENANTS = 10;
/** Submits under way at once: what an API with as many open requests has. */
const SUBMITTING = 100;
/** Jobs of one `addBulk`. */
const BULK = 500;
const KINDS = ["query", "insert"] as const satisfies readonly JobKind[];
const PAYLOAD = { query: '//Day[node~="conference"]/POI', topK: 10, scorer: "hybrid" };
const GOAL = 0.7;

const WAYS = ["raw", ...KINDS] as const;
const PROCESSES = ["producer", "worker", "Redis"] as const;

/** What a round of one kind of jobs took. */
interface Taken {
  readonly perSecond: number;
  /** Microseconds of processor time for one job, by process. */
  readonly cpu: Readonly<Record<(typeof PROCESSES)[number], number>>;
}

type Round = Readonly<Record<(typeof WAYS)[number], Taken>>;

export const queue: Bench = {
  name: "queue",
  summary: "jobs per second from submit to done, against bare BullMQ",
  limit: "jobs of each round",
  run: async (context) => {
    const jobs = context.limit ?? JOBS;
    const redis = await startRedis();
    try {
      return report(await measure(redis.address, jobs, context), jobs);
    } finally {
      await redis.close();
    }
  },
};

/** A worker, and the processor time that it had taken by the end of its last round. */
interface CountedWorker {
  readonly child: Child;
  cpu: number;
}

async function measure(redis: string, jobs: number, context: BenchContext): Promise<readonly Round[]> {
  await using opened = new AsyncDisposableStack();
  const worker = async (mode: string): Promise<CountedWorker> => {
    const child = await startChild("dist/bench/queues/queue-worker.js", [mode, redis, String(jobs)]);
    opened.defer(() => child.stop());
    return { child, cpu: 0 };
  };
  const [rawWorker, ourWorker] = [await worker("raw"), await worker("ours")];
  const connection = connectRedis(redis, "producer");
  opened.defer(() => {
    connection.disconnect();
  });
  const raw = new Queue(RAW_QUEUE, { connection, prefix: RAW_PREFIX });
  await raw.waitUntilReady();
  const client = createJobClient({ redis, payloadStore: NO_PAYLOADS, clock: systemClock, ids: randomId });
  opened.defer(() => client.close());
  const rounds: Round[] = [];
  // The first round warms up: scripts are loaded, code is compiled.
  for (let round = 0; round <= ROUNDS; round += 1) {
    context.progress(`queue: round ${round} of ${ROUNDS}`);
    const measured = {
      raw: await take(jobs, { redis: connection, worker: rawWorker }, () => addRaw(raw, jobs)),
      query: await take(jobs, { redis: connection, worker: ourWorker }, () => submit(client, "query", jobs)),
      insert: await take(jobs, { redis: connection, worker: ourWorker }, () => submit(client, "insert", jobs)),
    };
    if (round > 0) rounds.push(measured);
  }
  return rounds;
}

interface Parts {
  readonly redis: Redis;
  readonly worker: CountedWorker;
}

/** From the first submit until the worker has ended the last job. */
async function take(jobs: number, { redis, worker }: Parts, produce: () => Promise<void>): Promise<Taken> {
  const redisBefore = await redisCpu(redis);
  const ownBefore = process.cpuUsage();
  const started = performance.now();
  const done = worker.child.line("done");
  await produce();
  const workerCpu = Number((await done).split(" ")[1]);
  const seconds = (performance.now() - started) / 1_000;
  const own = process.cpuUsage(ownBefore);
  const cpu = {
    producer: (own.user + own.system) / jobs,
    worker: (workerCpu - worker.cpu) / jobs,
    Redis: ((await redisCpu(redis)) - redisBefore) / jobs,
  };
  worker.cpu = workerCpu;
  return { perSecond: Math.round(jobs / seconds), cpu };
}

/** Microseconds of processor time that Redis has taken. */
async function redisCpu(redis: Redis): Promise<number> {
  const found = (await redis.info("cpu")).matchAll(/^used_cpu_(?:user|sys):([\d.]+)/gm);
  return Array.from(found, ([, seconds]) => Number(seconds) * 1e6).reduce((sum, part) => sum + part, 0);
}

async function addRaw(raw: Queue, jobs: number): Promise<void> {
  for (let from = 0; from < jobs; from += BULK) {
    const count = Math.min(BULK, jobs - from);
    await raw.addBulk(
      Array.from({ length: count }, (_, at) => ({ name: "query", data: { tenant: tenantOf(from + at), ...PAYLOAD } })),
    );
  }
}

async function submit(client: JobClient, kind: JobKind, jobs: number): Promise<void> {
  let number = 0;
  const submitOne = (): Promise<unknown> => {
    number += 1;
    // A memory of its own: inserts of one memory go one after the other, which is not what is measured.
    const of = { tenant: tenantOf(number), memory: `mem_${number}` };
    return client.submit({ kind, ...of, payload: PAYLOAD });
  };
  const { errors } = await load(submitOne, { concurrency: SUBMITTING, count: jobs });
  if (errors > 0) throw new Error(`${errors} submits failed`);
}

const tenantOf = (number: number): string => `ten_${number % TENANTS}`;

function report(rounds: readonly Round[], jobs: number): BenchReport {
  const shareOf = (round: Round, kind: JobKind & keyof Round): number => round[kind].perSecond / round.raw.perSecond;
  const shares = KINDS.map((kind) => ({ kind, share: median(rounds.map((round) => shareOf(round, kind))) }));
  const middle = (of: (round: Round) => number): number => Math.round(median(rounds.map(of)));
  return {
    tables: [
      {
        title: `Jobs per second, ${jobs} jobs of ${TENANTS} tenants a round, ${ROUNDS} rounds`,
        columns: ["round", "bare BullMQ", "query jobs", "insert jobs", "query share", "insert share"],
        rows: [
          ...rounds.map((round, index) => [
            ...[index + 1, ...WAYS.map((way) => round[way].perSecond)],
            ...KINDS.map((kind) => shareOf(round, kind).toFixed(2)),
          ]),
          [
            ...["median", ...WAYS.map((way) => middle((round) => round[way].perSecond))],
            ...shares.map(({ share }) => share.toFixed(2)),
          ],
        ],
      },
      {
        title: "Processor time of a job, median (microseconds)",
        columns: ["process", "bare BullMQ", "query jobs", "insert jobs"],
        rows: PROCESSES.map((name) => [name, ...WAYS.map((way) => middle((round) => round[way].cpu[name]))]),
      },
    ],
    goals: shares.map(({ kind, share }) => ({
      ...{ what: `${kind} jobs against bare BullMQ`, goal: `>= ${GOAL}`, measured: share.toFixed(2) },
      met: share >= GOAL,
    })),
    notes: [
      "A bare job is two scripts in Redis. Ours adds its status, its place in a lane, the end of both, and for a job with effects its start; those of a process go together.",
    ],
    figures: { jobs, tenants: TENANTS, rounds, shares },
  };
}
