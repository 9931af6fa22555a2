import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

/** Milliseconds that a child has to print its ready line. */
const READY_MS = 30_000;

/** A child process of a benchmark. */
export interface Child {
  readonly pid: number;
  /** The line that it printed when it was ready. */
  readonly ready: string;
  /** Milliseconds from the spawn to that line. */
  readonly readyMs: number;
  /** SIGTERM, and waits for the end. */
  stop(): Promise<void>;
}

/**
 * Starts a Node program of the build and waits for the first line of its output that contains `ready`.
 * @throws Error with the last lines of its errors if it ends before, or says nothing for 30 s
 */
export async function startChild(program: string, args: readonly string[]): Promise<Child> {
  const started = performance.now();
  const child = spawn(process.execPath, ["--no-warnings", program, ...args], { stdio: ["ignore", "pipe", "pipe"] });
  let errors = "";
  child.stderr.on("data", (chunk: Buffer) => {
    errors = (errors + chunk.toString()).slice(-4_000);
  });
  const stop = async (): Promise<void> => {
    await stopChild(child);
  };
  const lines = createInterface({ input: child.stdout });
  const timer = setTimeout(() => child.kill("SIGKILL"), READY_MS);
  try {
    for await (const line of lines) {
      if (!line.includes("ready")) continue;
      child.stdout.resume();
      return { pid: child.pid ?? 0, ready: line, readyMs: performance.now() - started, stop };
    }
  } finally {
    clearTimeout(timer);
  }
  throw new Error(`${program} ${args.join(" ")} ended before it was ready:\n${errors}`);
}

async function stopChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill("SIGTERM");
  await ended;
}
