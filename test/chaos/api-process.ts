import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";

const ROOT = resolve(import.meta.dirname, "../..");
const PROGRAM = join(ROOT, "dist", "apps", "api", "src", "main.js");
const READY_MS = 60_000;

const running = new Set<ChildProcess>();

// A test run that is cut short leaves nothing behind.
process.once("exit", () => {
  for (const api of running) api.kill("SIGKILL");
});

/** A real API process of the build. */
export interface ApiProcess {
  readonly url: string;
  /** The first key of the deployment. */
  readonly key: string;
  /** Resolves when the process has ended, however. */
  readonly ended: Promise<unknown>;
  kill(): Promise<void>;
}

/** Starts an API and waits until it says that it is ready. */
export async function startApiProcess(options: {
  readonly dataFolder: string;
  readonly environment: NodeJS.ProcessEnv;
  readonly preload: string;
}): Promise<ApiProcess> {
  const api = spawn(process.execPath, ["--no-warnings", "--import", options.preload, PROGRAM], {
    cwd: ROOT,
    stdio: ["ignore", "pipe", "inherit"],
    env: {
      ...process.env,
      ...{ NODE_OPTIONS: "", LOG_LEVEL: "error", ESPALIER_PORT: "0", ESPALIER_DATA: options.dataFolder },
      ...options.environment,
    },
  });
  running.add(api);
  const ended = once(api, "exit").finally(() => running.delete(api));
  const url = await readyUrl(api);
  return {
    url,
    key: readFileSync(join(options.dataFolder, "admin.key"), "utf8").trim(),
    ended,
    kill: async () => {
      api.kill("SIGKILL");
      await ended;
    },
  };
}

async function readyUrl(api: ChildProcess): Promise<string> {
  const { promise: ready, resolve: found, reject } = Promise.withResolvers<string>();
  let out = "";
  api.stdout?.on("data", (chunk: Buffer) => {
    out += chunk.toString();
    const url = /^espalier ready url=(\S+)$/m.exec(out)?.[1];
    if (url !== undefined) found(url);
  });
  api.once("exit", (code) => {
    reject(new Error(`the API ended with ${String(code)} before it was ready`));
  });
  const timer = setTimeout(() => {
    reject(new Error(`the API was not ready within ${READY_MS / 1_000} s`));
  }, READY_MS);
  try {
    return await ready;
  } finally {
    clearTimeout(timer);
  }
}
