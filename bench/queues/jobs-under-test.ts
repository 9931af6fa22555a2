import { randomId, systemClock } from "#core";
import {
  createJobClient,
  JOB_NAMES,
  startJobWorkers,
  type JobClient,
  type JobHandler,
  type JobKind,
  type JobWorkers,
} from "#jobs";
import { load } from "../http/load.js";
import { NO_PAYLOADS } from "./no-payloads.js";

/** Submits under way at once: what an API with as many open requests has. */
const SUBMITTING = 100;

/** Jobs of one kind under a prefix of their own, with the product's settings. */
export interface JobsUnderTest extends AsyncDisposable {
  readonly client: JobClient;
  /** Submits jobs of one kind, each in a memory of its own, as fast as an API would. */
  submit(jobs: readonly SubmittedJob[]): Promise<void>;
  /** Starts one worker process's worth of workers in this process. */
  work(handle: JobHandler): Promise<void>;
}

export interface SubmittedJob {
  readonly tenant: string;
  /** Characters of its payload: what a job costs goes by them. */
  readonly characters?: number;
}

/** Opens them; closing ends the workers. */
export function openJobs(redis: string, prefix: string, kind: JobKind): JobsUnderTest {
  const shared = { redis, payloadStore: NO_PAYLOADS, clock: systemClock, settings: { prefix } };
  const client = createJobClient({ ...shared, ids: randomId });
  let workers: JobWorkers | undefined;
  return {
    client,
    submit: async (jobs) => {
      let next = 0;
      const submitOne = (): Promise<unknown> => {
        const { tenant, characters = 0 } = jobs[next++] ?? { tenant: "" };
        return client.submit({ kind, tenant, memory: randomId("mem"), payload: { text: "x".repeat(characters) } });
      };
      const { errors } = await load(submitOne, { concurrency: SUBMITTING, count: jobs.length });
      if (errors > 0) throw new Error(`${errors} submits failed`);
    },
    work: async (handle) => {
      workers = startJobWorkers({
        ...{ ...shared, roles: [kind] },
        handlers: JOB_NAMES[kind].map((name) => ({ name, handle })),
      });
      await workers.ready();
    },
    [Symbol.asyncDispose]: async () => {
      await workers?.close({ drainMs: 5_000, giveBackMs: 1_000 });
      await client.close();
    },
  };
}
