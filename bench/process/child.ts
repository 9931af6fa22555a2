import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createInterface, type Interface } from "node:readline";

/** Milliseconds that a child has to print its ready line: a busy machine takes many times the second of an idle one. */
const READY_MS = 120_000;

/** A child process of a benchmark. */
export interface Child {
  readonly pid: number;
  /** The line that it printed when it was ready. */
  readonly ready: string;
  /** Milliseconds from the spawn to that line. */
  readonly readyMs: number;
  /** The next line that it prints from now on that begins so. Rejects if the child ends before. */
  line(beginning: string): Promise<string>;
  /** SIGTERM, and waits for the end. */
  stop(): Promise<void>;
  /** SIGKILL, and waits for the end. */
  kill(): Promise<void>;
}

/**
 * Starts a Node program of the build and waits for the first line of its output that contains `ready`.
 * @param environment beside that of this process
 * @throws Error with the last lines of its errors if it ends before, or says nothing for two minutes
 */
export async function startChild(
  program: string,
  args: readonly string[],
  environment: NodeJS.ProcessEnv = {},
): Promise<Child> {
  const started = performance.now();
  const child = spawn(process.execPath, ["--no-warnings", program, ...args], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, ...environment },
  });
  let errors = "";
  child.stderr.on("data", (chunk: Buffer) => {
    errors = (errors + chunk.toString()).slice(-4_000);
  });
  const lines = createInterface({ input: child.stdout });
  const timer = setTimeout(() => child.kill("SIGKILL"), READY_MS);
  const ready = await nextLine(lines, (line) => line.includes("ready"));
  clearTimeout(timer);
  if (ready === undefined) {
    throw new Error(`${program} ${args.join(" ")} ended before it was ready:\n${errors}`);
  }
  return {
    ...{ pid: child.pid ?? 0, ready, readyMs: performance.now() - started },
    line: async (beginning) => {
      const line = await nextLine(lines, (text) => text.startsWith(beginning));
      if (line === undefined) throw new Error(`${program} ended before it said "${beginning}":\n${errors}`);
      return line;
    },
    stop: () => end(child, "SIGTERM"),
    kill: () => end(child, "SIGKILL"),
  };
}

/** The next line that is looked for; `undefined` if the output ends before. */
function nextLine(lines: Interface, isIt: (line: string) => boolean): Promise<string | undefined> {
  const { promise, resolve } = Promise.withResolvers<string | undefined>();
  const look = (line: string): void => {
    if (isIt(line)) resolve(line);
  };
  const close = (): void => {
    resolve(undefined);
  };
  lines.on("line", look);
  lines.once("close", close);
  return promise.finally(() => {
    lines.off("line", look);
    lines.off("close", close);
  });
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill(signal);
  await ended;
}
