import { fork, type ChildProcess } from "node:child_process";
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Logger } from "pino";
import { requeueActive, type JobKind } from "#jobs";
import { WORKER_HEARTBEAT } from "../../../worker/src/heartbeat.js";
import type { DataFolder } from "./data-folder.js";
import { commandOf, hasEnded, signal } from "./processes.js";
import { supervise, type Supervised } from "./supervise.js";

/** Queries have a process of their own: an import that keeps a core and the store busy leaves them calm. */
const PROCESSES: readonly (readonly JobKind[])[] = [["query"], ["insert", "score", "maintain"]];

const PROGRAM = join(import.meta.dirname, "worker-child.js");
const ORPHAN_MS = 5_000;

export interface WorkerPoolOptions {
  /** Its lock is held by the caller. */
  readonly folder: DataFolder;
  /** The configuration of the workers. */
  readonly environment: NodeJS.ProcessEnv & { readonly REDIS_URL: string };
  /** No other worker than these uses the queues. */
  readonly ownsRedis: boolean;
  readonly logger: Logger;
}

/**
 * Starts the worker processes of a data folder and keeps them running. Jobs that a dead process left active are given back
 * to their queues before its successor starts; on a Redis that others use as well they wait for their locks instead.
 */
export async function startWorkerPool(options: WorkerPoolOptions): Promise<readonly Supervised[]> {
  const { folder, environment, logger } = options;
  const giveBack = async (roles: readonly JobKind[]): Promise<void> => {
    if (options.ownsRedis) await requeueActive(environment.REDIS_URL, { roles });
  };
  await endOrphans(folder, logger);
  await giveBack(PROCESSES.flat());
  const pool: Supervised[] = [];
  const note = (): void => {
    notePids(folder, pool);
  };
  for (const roles of PROCESSES) {
    pool.push(
      supervise(
        {
          name: `worker ${roles.join(",")}`,
          spawn: () => {
            queueMicrotask(note);
            return forkWorker(folder, roles, environment);
          },
          ready: isReady,
          beforeRestart: () => giveBack(roles),
          killSignal: "SIGKILL",
          heartbeat: WORKER_HEARTBEAT,
        },
        logger,
      ),
    );
  }
  return pool;
}

function forkWorker(folder: DataFolder, roles: readonly JobKind[], environment: NodeJS.ProcessEnv): ChildProcess {
  return fork(PROGRAM, [roles.join(","), folder.path], {
    env: environment,
    execArgv: ["--no-warnings"],
    // As for Redis: signals of the terminal reach `up` only. stdout is for results, so the workers' goes to stderr.
    detached: true,
    stdio: ["ignore", 2, 2, "ipc"],
  });
}

function isReady(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    child.on("message", (message: unknown) => {
      if (typeof message === "object" && message !== null && "type" in message && message.type === "ready") resolve();
    });
  });
}

/**
 * Workers end with their parent by themselves, unless they are in the middle of something that does not yield; then they
 * are killed, which the next attempt of their jobs is made for.
 */
async function endOrphans(folder: DataFolder, logger: Logger): Promise<void> {
  for (const pid of readPids(folder)) {
    const command = commandOf(pid);
    if (!command.includes(PROGRAM) || !command.includes(folder.path)) continue;
    logger.warn({ orphan: pid }, "ending a worker that an earlier run left");
    signal(pid, "SIGKILL");
    await hasEnded(pid, ORPHAN_MS);
  }
}

function pidsFile(folder: DataFolder): string {
  return join(folder.path, "workers.json");
}

function notePids(folder: DataFolder, pool: readonly Supervised[]): void {
  const pids = pool.flatMap((worker) => worker.current()?.pid ?? []);
  // In one step: a kill in the middle of a write must not lose the pids of workers that outlive it.
  const draft = `${pidsFile(folder)}.new`;
  writeFileSync(draft, `${JSON.stringify(pids)}\n`, { mode: 0o600 });
  renameSync(draft, pidsFile(folder));
}

function readPids(folder: DataFolder): readonly number[] {
  try {
    const pids: unknown = JSON.parse(readFileSync(pidsFile(folder), "utf8"));
    return Array.isArray(pids) ? pids.filter((pid): pid is number => Number.isSafeInteger(pid) && pid > 1) : [];
  } catch {
    return [];
  }
}
