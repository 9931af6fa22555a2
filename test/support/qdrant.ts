/**
 * A Qdrant for tests: the real one that `QDRANT_URL` names, else a small REST front (qdrant/front.py) on the local mode of
 * Qdrant's Python client, whose filters and scores are Qdrant's own. The package comes from PyPI once and lies in
 * `.cache/qdrant-front`. Suites share a server and keep apart by the names of their collections.
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, readFile, rename, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { describe } from "@jest/globals";

/** The same from the sources and from the build. */
const ROOT = resolve(import.meta.dirname, "../..").replace(/\/dist$/, "");
const FRONT = join(ROOT, "test/support/qdrant");
const CACHE = join(ROOT, ".cache/qdrant-front");
/** Changes with the versions in qdrant/requirements.txt. */
const PACKAGES = join(CACHE, "packages-1.20.0");
const RUNS = join(CACHE, "runs");
/** The process with which fronts end: Jest's own, not a worker of it. */
const RUN = process.env["ESPALIER_TEST_RUN"] ?? String(process.pid);

/** Why no Qdrant can run on this machine. */
export interface QdrantMissing {
  readonly skipped: string;
}

/** A front of one's own, to be killed and started again. */
export interface TestQdrant {
  /** The same after a restart. */
  readonly url: string;
  /** SIGKILL, as a crash would. */
  kill(): Promise<void>;
  /** Starts it again with the points it had; ready when it answers. */
  start(): Promise<void>;
  /** SIGSTOP and SIGCONT: a server that is there but does not answer. */
  freeze(): void;
  thaw(): void;
  /** Ends it and removes its folder. */
  close(): Promise<void>;
}

/** The server that the files of this Jest worker share. */
export async function qdrantServer(): Promise<{ readonly url: string; readonly real: boolean } | QdrantMissing> {
  const real = process.env["QDRANT_URL"];
  if (real !== undefined && real !== "") {
    say(`Qdrant suites run on the real Qdrant at ${new URL(real).origin}.`);
    return { url: real, real: true };
  }
  const missing = await whatIsMissing();
  if (missing !== undefined) return missing;
  const note = join(RUNS, `${RUN}-worker-${process.env["JEST_WORKER_ID"] ?? "1"}`);
  const running = await readFile(note, "utf8").catch(() => undefined);
  if (running !== undefined) return { url: running, real: false };
  await mkdir(RUNS, { recursive: true });
  say("Qdrant suites run on the REST front over qdrant-client's local mode, no real Qdrant: set QDRANT_URL for one.");
  const { url } = await launch(RUN, ["--note", note]);
  return { url, real: false };
}

/** A suite that needs Qdrant. Where none can run, its tests are skipped by name. Called with `await` at the top of a file. */
export async function describeWithQdrant(
  name: string,
  suite: (server: { readonly url: string; readonly real: boolean }) => void,
): Promise<void> {
  const server = await qdrantServer();
  if ("skipped" in server) {
    describe.skip(name, () => {
      suite({ url: "http://not-there", real: false });
    });
  } else {
    describe(name, () => {
      suite(server);
    });
  }
}

/** A fresh, empty front that keeps its points over a restart. With `apiKey`, callers have to give it. Ends with process `run`. */
export async function startQdrant(
  options: { readonly apiKey?: string; readonly run?: number } = {},
): Promise<TestQdrant | QdrantMissing> {
  const missing = await whatIsMissing();
  if (missing !== undefined) return missing;
  const port = await freePort();
  const storage = join(RUNS, `${RUN}-own-${port}`);
  const key = options.apiKey === undefined ? [] : ["--api-key", options.apiKey];
  const args = ["--port", String(port), "--storage", storage, ...key];
  const run = String(options.run ?? RUN);
  let front = await launch(run, args);
  const kill = async (): Promise<void> => {
    if (front.server.exitCode !== null || front.server.signalCode !== null) return;
    const exited = once(front.server, "exit");
    front.server.kill("SIGKILL");
    await exited;
  };
  return {
    url: front.url,
    kill,
    start: async () => {
      front = await launch(run, args);
    },
    freeze: () => front.server.kill("SIGSTOP"),
    thaw: () => front.server.kill("SIGCONT"),
    close: async () => {
      await kill();
      await rm(storage, { recursive: true, force: true });
    },
  };
}

async function launch(
  run: string,
  args: readonly string[],
): Promise<{ readonly server: ChildProcess; readonly url: string }> {
  const server = spawn("python3", [join(FRONT, "front.py"), "--run", run, ...args], {
    detached: true,
    // Nothing of it may hold the run, or whoever reads the run's output.
    stdio: ["ignore", "pipe", "ignore"],
    env: { ...process.env, PYTHONPATH: PACKAGES, PYTHONDONTWRITEBYTECODE: "1" },
  });
  for await (const line of createInterface({ input: server.stdout })) {
    if (!line.startsWith("ready ")) continue;
    server.stdout.destroy();
    server.unref();
    return { server, url: line.slice("ready ".length) };
  }
  throw new Error("the REST front of Qdrant ended at its start");
}

// --- what it needs

let missing: Promise<QdrantMissing | undefined> | undefined;

/** Looks for Python and the package, and fetches the package; says in one line what is missing. */
function whatIsMissing(): Promise<QdrantMissing | undefined> {
  missing ??= findMissing().then((skipped) => {
    if (skipped === undefined) return undefined;
    say(`Skipping the suites that need Qdrant: ${skipped}`);
    return { skipped };
  });
  return missing;
}

async function findMissing(): Promise<string | undefined> {
  const { status } = spawnSync("python3", ["-c", "import sys; sys.exit(sys.version_info < (3, 11))"], {
    stdio: "ignore",
  });
  if (status === null) return "there is no python3 on the PATH, and QDRANT_URL is not set.";
  if (status !== 0) return "python3 is older than 3.11, and QDRANT_URL is not set.";
  return existsSync(PACKAGES) ? undefined : fetchPackages();
}

/** Every worker may fetch at once; the first that is done wins. Answers why it failed. */
async function fetchPackages(): Promise<string | undefined> {
  const folder = `${PACKAGES}-${process.pid}`;
  await mkdir(CACHE, { recursive: true });
  const wanted = ["--only-binary", ":all:", "--no-deps", "-r", join(FRONT, "requirements.txt")];
  const { status, stderr } = spawnSync("python3", ["-m", "pip", "install", "-q", "--target", folder, ...wanted], {
    encoding: "utf8",
  });
  if (status === 0) await rename(folder, PACKAGES).catch(() => undefined);
  await rm(folder, { recursive: true, force: true });
  if (existsSync(PACKAGES)) return undefined;
  return `pip could not fetch qdrant-client (${stderr.trim().split("\n").at(-1)?.slice(0, 200) ?? "no output"}).`;
}

function say(line: string): void {
  process.stderr.write(`${line}\n`);
}

function freePort(): Promise<number> {
  return new Promise((settle, fail) => {
    const server = createServer();
    server.once("error", fail);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => {
        settle(typeof address === "object" && address !== null ? address.port : 0);
      });
    });
  });
}
