import { readdir, readFile } from "node:fs/promises";

/** Resident memory of one process. */
export interface ProcessMemory {
  readonly pid: number;
  readonly command: string;
  readonly mebibytes: number;
}

/** Resident memory of a process and all below it, from /proc; undefined on systems without it. */
export async function residentMemory(root: number): Promise<readonly ProcessMemory[] | undefined> {
  const entries = await readdir("/proc").catch(() => undefined);
  if (entries === undefined) return undefined;
  const found = await Promise.all(entries.filter((entry) => /^\d+$/.test(entry)).map(readStatus));
  const processes = found.filter((status) => status !== undefined);
  const wanted = new Set([root]);
  // Parents are older than their children but ids wrap around: until nothing is added.
  for (let before = 0; before < wanted.size;) {
    before = wanted.size;
    for (const { pid, parent } of processes) if (wanted.has(parent)) wanted.add(pid);
  }
  return processes
    .filter(({ pid }) => wanted.has(pid))
    .map(({ pid, command, kibibytes }) => ({ pid, command, mebibytes: Math.round(kibibytes / 1024) }));
}

interface Status {
  readonly pid: number;
  readonly parent: number;
  readonly command: string;
  readonly kibibytes: number;
}

async function readStatus(pid: string): Promise<Status | undefined> {
  try {
    const status = await readFile(`/proc/${pid}/status`, "utf8");
    const command = await readFile(`/proc/${pid}/cmdline`, "utf8");
    const number = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(status)?.[1] ?? 0);
    return { pid: Number(pid), parent: number("PPid"), command: shorten(command), kibibytes: number("VmRSS") };
  } catch {
    // It ended meanwhile.
    return undefined;
  }
}

/** Program and arguments without folders and options. */
function shorten(commandLine: string): string {
  return commandLine
    .split("\0")
    .filter((part) => part !== "" && !part.startsWith("--"))
    .map((part) => part.split("/").at(-1) ?? part)
    .slice(0, 3)
    .join(" ");
}
