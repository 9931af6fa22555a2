/**
 * A worker whose jobs do nothing: what is measured is the queue. Arguments: `ours` or `raw`, the Redis socket, and how many
 * jobs a round has; whenever so many have ended it prints `done` and the microseconds of processor time that it has taken.
 */
import { Worker } from "bullmq";
import { systemClock } from "#core";
import { connectRedis, JOB_NAMES, QUEUE_SETTINGS, startJobWorkers } from "#jobs";
import { NO_PAYLOADS } from "./no-payloads.js";
import { RAW_PREFIX, RAW_QUEUE } from "./queue-names.js";

const RESULT = { rows: [], warnings: [] };

const [, , mode, redis = "", perRound = ""] = process.argv;
let ended = 0;

function jobEnded(): void {
  ended += 1;
  if (ended % Number(perRound) !== 0) return;
  const { user, system } = process.cpuUsage();
  process.stdout.write(`done ${user + system}\n`);
}

if (mode === "raw") {
  const worker = new Worker(RAW_QUEUE, () => Promise.resolve(RESULT), {
    connection: connectRedis(redis, "worker"),
    prefix: RAW_PREFIX,
    concurrency: QUEUE_SETTINGS.query.concurrency,
    // Somewhere the record of what has ended must be: ours is the status.
    removeOnComplete: { count: 1_000 },
  });
  worker.on("completed", jobEnded);
  await worker.waitUntilReady();
} else {
  const workers = startJobWorkers({
    ...{ redis, roles: ["query", "insert"], payloadStore: NO_PAYLOADS, clock: systemClock, onRun: jobEnded },
    handlers: [...JOB_NAMES.query, ...JOB_NAMES.insert].map((name) => ({
      name,
      handle: () => Promise.resolve(RESULT),
    })),
  });
  await workers.ready();
}
process.stdout.write("ready\n");
