import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";

/** A real process that writes into a folder's stores; its messages are what it has done. */
export function startWriter(folder: string, ...task: readonly string[]): ChildProcess {
  return fork(join(import.meta.dirname, "writer-child.ts"), [folder, ...task], {
    execArgv: [
      ...["--no-warnings", "--experimental-transform-types", "--conditions=espalier-source"],
      `--import=${join(import.meta.dirname, "resolve-sources.mjs")}`,
    ],
    env: { ...process.env, NODE_OPTIONS: "" },
  });
}

/** Waits for the end; answers the exit code. */
export async function endOf(child: ChildProcess): Promise<number | null> {
  if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  return child.exitCode;
}
