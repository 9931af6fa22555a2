import { execFile, fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join, resolve } from "node:path";
import { promisify } from "node:util";

const ROOT = resolve(import.meta.dirname, "../..");
const PROGRAM = join(ROOT, "dist", "apps", "worker", "src", "main.js");

const running = new Set<ChildProcess>();

// A test run that is cut short must not leave workers behind.
process.once("exit", () => {
  for (const worker of running) worker.kill("SIGKILL");
});

/** A real worker process of the build, as a supervisor runs it. */
export interface WorkerProcess {
  readonly pid: number;
  /** The channel between the worker and its parent. */
  readonly channel: ChildProcess;
  /** SIGKILL, as a crash would. */
  kill(): Promise<void>;
  /** SIGTERM; answers the exit code. */
  stop(): Promise<number | null>;
}

export interface WorkerProcessOptions {
  /** Path of the Redis socket. */
  readonly redis: string;
  readonly dataFolder: string;
  readonly roles?: string;
  readonly environment?: NodeJS.ProcessEnv;
  /** A module that is loaded before the program. */
  readonly preload?: string;
}

/** Builds what the sources have and the build has not. */
export async function setUp(environment: NodeJS.ProcessEnv): Promise<void> {
  const program = join(ROOT, "scripts", "setup.mjs");
  await promisify(execFile)(process.execPath, ["--no-warnings", program], { env: { ...process.env, ...environment } });
}

/** Starts a worker of the build and waits until it says that it is ready. */
export async function startWorkerProcess(options: WorkerProcessOptions): Promise<WorkerProcess> {
  const worker = fork(PROGRAM, options.roles === undefined ? [] : ["--roles", options.roles], {
    cwd: ROOT,
    execArgv: ["--no-warnings", ...(options.preload === undefined ? [] : ["--import", options.preload])],
    stdio: ["ignore", "inherit", "inherit", "ipc"],
    env: {
      ...process.env,
      NODE_OPTIONS: "",
      // A Qdrant that the suites of the stores use is none of this worker's.
      NEO4J_URI: "",
      QDRANT_URL: "",
      LOG_LEVEL: "error",
      REDIS_URL: `unix://${options.redis}`,
      ESPALIER_DATA: options.dataFolder,
      ...options.environment,
    },
  });
  running.add(worker);
  worker.once("exit", () => running.delete(worker));
  await ready(worker);
  const end = async (signal: NodeJS.Signals): Promise<number | null> => {
    if (worker.exitCode !== null || worker.signalCode !== null) return worker.exitCode;
    const exited = once(worker, "exit") as Promise<[number | null]>;
    worker.kill(signal);
    return (await exited)[0];
  };
  return {
    pid: worker.pid ?? 0,
    channel: worker,
    kill: async () => {
      await end("SIGKILL");
    },
    stop: () => end("SIGTERM"),
  };
}

async function ready(worker: ChildProcess): Promise<void> {
  const died = once(worker, "exit").then(([code]) =>
    Promise.reject(new Error(`the worker ended with ${String(code)}`)),
  );
  died.catch(() => undefined);
  await Promise.race([once(worker, "message"), died]);
}
