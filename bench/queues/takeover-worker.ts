/**
 * A worker that begins inserts and never ends them, unless it has taken them over from one that died. Arguments: the Redis
 * socket and how many jobs it runs at once. Prints `begun <job> <attempt> <milliseconds since the epoch>` for each run.
 */
import { systemClock } from "#core";
import { JOB_NAMES, startJobWorkers } from "#jobs";
import { NO_PAYLOADS } from "./no-payloads.js";

const [, , redis = "", concurrency = "1"] = process.argv;

const workers = startJobWorkers({
  ...{ redis, roles: ["insert"], payloadStore: NO_PAYLOADS, clock: systemClock },
  concurrency: { insert: Number(concurrency) },
  handlers: JOB_NAMES.insert.map((name) => ({
    name,
    handle: async (_payload, { id, attempt, takenOver }) => {
      process.stdout.write(`begun ${id} ${attempt} ${Date.now()}\n`);
      if (takenOver === 0) await new Promise(() => undefined);
      return {};
    },
  })),
});
await workers.ready();
process.stdout.write("ready\n");
