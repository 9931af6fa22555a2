import { readFile } from "node:fs/promises";
import { availableParallelism, cpus, loadavg, release, totalmem, type } from "node:os";

const GIBIBYTE = 1024 ** 3;

/** Packages whose version a figure depends on. */
const PACKAGES = ["onnxruntime-node", "sqlite-vec", "bullmq", "ioredis", "fastify", "@nestjs/core"] as const;

/** What a figure was measured on. `loadBefore` is the one-minute load average before the run: over 0.5, do not publish. */
export interface Machine {
  readonly date: string;
  readonly processor: string;
  readonly cores: number;
  readonly memoryGib: number;
  readonly system: string;
  readonly node: string;
  readonly packages: Readonly<Record<string, string>>;
  readonly loadBefore: number;
}

/** The machine and the versions of this run; reads package.json of the working folder's packages. */
export async function describeMachine(): Promise<Machine> {
  const packages: Record<string, string> = {};
  for (const name of PACKAGES) {
    const manifest = JSON.parse(await readFile(`node_modules/${name}/package.json`, "utf8")) as { version: string };
    packages[name] = manifest.version;
  }
  return {
    date: new Date().toISOString().slice(0, 10),
    processor: cpus()[0]?.model ?? "unknown",
    cores: availableParallelism(),
    memoryGib: Math.round(totalmem() / GIBIBYTE),
    system: `${type()} ${release()}`,
    node: process.version,
    packages,
    loadBefore: Math.round((loadavg()[0] ?? 0) * 100) / 100,
  };
}
