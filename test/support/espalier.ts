import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";

const ROOT = resolve(import.meta.dirname, "../..");

/** Set-up included, which after a change of the sources builds. */
const READY_MS = 60_000;

/** What a command of the command line ended with. */
export interface CommandEnd {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A running `bin/espalier up`. */
export interface RunningEspalier {
  readonly url: string;
  readonly key: string;
  readonly pid: number;
  /** Everything it has written to stdout. */
  readonly stdout: () => string;
  /** Sends a signal and waits for the end. */
  readonly end: (signal: NodeJS.Signals) => Promise<CommandEnd>;
  /** A request with the key of the folder; the body is JSON. */
  readonly request: (
    method: string,
    path: string,
    body?: unknown,
    headers?: Readonly<Record<string, string>>,
  ) => Promise<Response>;
}

const running = new Set<ChildProcess>();

// A test run that is cut short leaves nothing behind: the children of `up` end with it.
process.once("exit", () => {
  for (const child of running) child.kill("SIGTERM");
});

function start(
  args: readonly string[],
  environment: NodeJS.ProcessEnv,
): { child: ChildProcess; out: () => string; err: () => string } {
  // Empty counts as unset: what this shell is configured for is none of the test's business.
  const unset = { REDIS_URL: "", NEO4J_URI: "", QDRANT_URL: "", ESPALIER_URL: "", ESPALIER_KEY: "", NODE_OPTIONS: "" };
  const child = spawn(join(ROOT, "bin", "espalier"), args, {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, ...unset, LOG_LEVEL: "warn", ...environment },
  });
  running.add(child);
  child.once("exit", () => running.delete(child));
  let [out, err] = ["", ""];
  child.stdout.on("data", (chunk: Buffer) => (out += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (err += chunk.toString()));
  return { child, out: () => out, err: () => err };
}

/** Runs a command to its end. */
export async function runEspalier(args: readonly string[], environment: NodeJS.ProcessEnv = {}): Promise<CommandEnd> {
  const { child, out, err } = start(args, environment);
  const [code] = (await once(child, "close")) as [number | null];
  return { code, stdout: out(), stderr: err() };
}

/** Starts `up` in a folder, on a free port. Resolves at its ready line. */
export async function startEspalier(folder: string, environment: NodeJS.ProcessEnv = {}): Promise<RunningEspalier> {
  const { child, out, err } = start(["up", "--port", "0", "--data", folder], environment);
  const url = await readyUrl(child, out, err);
  const key = readFileSync(join(folder, "admin.key"), "utf8").trim();
  return {
    url,
    key,
    pid: child.pid ?? 0,
    stdout: out,
    end: async (signal) => {
      const closed = once(child, "close") as Promise<[number | null]>;
      child.kill(signal);
      const [code] = await closed;
      return { code, stdout: out(), stderr: err() };
    },
    request: (method, path, body, headers = {}) =>
      fetch(new URL(path, url), {
        method,
        headers: {
          authorization: `Bearer ${key}`,
          ...(body !== undefined && { "content-type": "application/json" }),
          ...headers,
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      }),
  };
}

function readyUrl(child: ChildProcess, out: () => string, err: () => string): Promise<string> {
  const { promise, resolve: found, reject } = Promise.withResolvers<string>();
  const timer = setTimeout(() => {
    reject(new Error(`up was not ready within ${READY_MS / 1_000} s:\n${err()}`));
  }, READY_MS);
  child.stdout?.on("data", () => {
    const url = /^espalier ready url=(\S+)$/m.exec(out())?.[1];
    if (url !== undefined) found(url);
  });
  child.once("close", (code) => {
    reject(new Error(`up ended with ${code} before it was ready:\n${err()}`));
  });
  return promise.finally(() => {
    clearTimeout(timer);
  });
}
