/**
 * The set-up behind every command in bin/: packages, Redis, models, build. Plain Node 24 without packages.
 *
 * Each step knows whether it is done; nothing is done twice, and when all is there nothing is locked, downloaded or
 * written (about 0.2 s). Otherwise one set-up runs at a time: the lock is a SQLite transaction, which the system ends with
 * the process, so that a killed set-up leaves no lock behind. A step publishes its result in one move (a rename, or a
 * stamp written last): a set-up that was killed is simply done again.
 *
 * Says what it does on stderr, nothing on stdout. Exits 0 when everything is there, else 1 with one sentence on stderr.
 */
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { createWriteStream } from "node:fs";
import { mkdir, readFile, readdir, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join, relative, resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { areModelsSetUp, setUpModels } from "./setup-models.mjs";

const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), "..");
const CACHE = join(ROOT, ".cache");
const REDIS_MINIMUM = [7, 0];
/** How long one set-up waits for another: a first set-up on a slow network. */
const LOCK_WAIT_MS = 20 * 60_000;

/** A failure whose message is the one sentence that a person needs. */
class SetUpError extends Error {}

const say = (line) => process.stderr.write(`setup: ${line}\n`);
const textOf = (path) => readFile(path, "utf8").catch(() => undefined);
const sha256 = (text) => createHash("sha256").update(text).digest("hex");

/** Runs a program with its output in `log`, or kept if there is none; answers exit code (null: not there) and output. */
function run(program, args, { log, env } = {}) {
  return new Promise((settle) => {
    const child = spawn(program, args, {
      cwd: ROOT,
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, ...env },
    });
    const file = log === undefined ? undefined : createWriteStream(log);
    let output = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.on("data", (chunk) => {
        output = (output + chunk).slice(-20_000);
        file?.write(chunk);
      });
    }
    const end = (code) => {
      file?.end();
      settle({ code, output });
    };
    child.on("error", () => end(null));
    child.on("close", end);
  });
}

const firstLine = (output, pattern) =>
  output
    .split("\n")
    .find((line) => pattern.test(line))
    ?.trim() ?? "no output";
const lastLine = (output) => output.trimEnd().split("\n").at(-1)?.trim() || "no output";

// --- packages

const PACKAGES_STAMP = join(ROOT, "node_modules", ".espalier-lock");

/** True if what npm last put into node_modules is what package-lock.json asks for (after `npm install NAME`, say). */
function isInstalled(wantedText, installedText) {
  const wanted = JSON.parse(wantedText).packages;
  const installed = JSON.parse(installedText).packages;
  return Object.entries(wanted).every(
    ([path, { version, optional }]) =>
      path === "" || installed[path]?.version === version || (optional === true && installed[path] === undefined),
  );
}

async function arePackagesThere() {
  const wanted = await textOf(join(ROOT, "package-lock.json"));
  if (wanted === undefined) throw new SetUpError("package-lock.json is missing: check the repository out again.");
  const stamp = sha256(wanted);
  if ((await textOf(PACKAGES_STAMP)) === stamp) return true;
  const installed = await textOf(join(ROOT, "node_modules", ".package-lock.json"));
  if (installed === undefined || !isInstalled(wanted, installed)) return false;
  await writeFile(PACKAGES_STAMP, stamp);
  return true;
}

/** Milliseconds between tries of a download: npm's own seconds for each package are minutes of saying nothing where none can be had. */
const SHORT_RETRIES = ["--fetch-retry-mintimeout=1000", "--fetch-retry-maxtimeout=5000"];

async function installPackages() {
  say("installing packages (once, and after package-lock.json changed)");
  const log = join(CACHE, "setup-packages.log");
  // The CPU part of onnxruntime-node is in its package; its script would download CUDA parts.
  const env = { ONNXRUNTIME_NODE_INSTALL_CUDA: "skip", NODE_ENV: "development" };
  // Not `npm ci`: it insists on lock entries for the optional binaries of every platform, which npm only writes where its
  // registry has them all. Versions and hashes come from the lock all the same; the lock itself is not touched.
  const flags = ["--no-save", "--no-audit", "--no-fund", ...SHORT_RETRIES];
  const { code, output } = await run("npm", ["install", ...flags], { log, env });
  if (code === null)
    throw new SetUpError("npm is not on the PATH: install it (Debian, Ubuntu: apt install npm), then run this again.");
  if (code !== 0) {
    throw new SetUpError(
      `npm could not install the packages (${firstLine(output, /npm err(or|!) (?!code)\S/i)}): check the network and the registry that npm uses (behind a proxy: README, What you need); the whole output is in ${relative(process.cwd(), log)}.`,
    );
  }
  await writeFile(PACKAGES_STAMP, sha256(await readFile(join(ROOT, "package-lock.json"), "utf8")));
}

// --- Redis

const redisVersion = async () => (await run("redis-server", ["--version"])).output.match(/v=(\d+)\.(\d+)[.\d]*/);

const isNewEnough = ([, major, minor]) =>
  Number(major) > REDIS_MINIMUM[0] || (Number(major) === REDIS_MINIMUM[0] && Number(minor) >= REDIS_MINIMUM[1]);

async function isRedisThere() {
  // A Redis of one's own needs no redis-server here.
  if (process.env.REDIS_URL) return true;
  const version = await redisVersion();
  return version !== null && isNewEnough(version);
}

/** What puts redis-server on this machine without asking anybody, or undefined. */
async function redisInstaller() {
  if (process.platform === "darwin") {
    return (await run("brew", ["--version"])).code === 0 ? [["brew", "install", "redis"]] : undefined;
  }
  if ((await run("apt-get", ["--version"])).code !== 0) return undefined;
  const isRoot = process.getuid() === 0;
  if (!isRoot && (await run("sudo", ["-n", "true"])).code !== 0) return undefined;
  const before = isRoot ? ["env"] : ["sudo", "-n", "env"];
  const apt = [...before, "DEBIAN_FRONTEND=noninteractive", "apt-get"];
  return [
    [...apt, "update"],
    [...apt, "install", "-y", "--no-install-recommends", "redis-server"],
  ];
}

async function installRedis() {
  const wanted = REDIS_MINIMUM.join(".");
  const byHand =
    process.platform === "darwin"
      ? "`brew install redis`"
      : "`apt-get install redis-server` as root, or as redis.io says";
  const found = await redisVersion();
  if (found === null) {
    const commands = await redisInstaller();
    if (commands === undefined) {
      throw new SetUpError(
        `redis-server is not on the PATH and this user may not install it: install Redis ${wanted} or newer (${byHand}), or set REDIS_URL to one that runs, then run this again.`,
      );
    }
    say("installing Redis (once)");
    const log = join(CACHE, "setup-redis.log");
    for (const [program, ...args] of commands) {
      const { code, output } = await run(program, args, { log });
      // A package index that cannot be renewed may still know Redis.
      if (code !== 0 && args.at(-1) !== "update") {
        throw new SetUpError(
          `Redis could not be installed (${lastLine(output)}): install Redis ${wanted} or newer yourself (${byHand}), then run this again.`,
        );
      }
    }
  }
  const version = await redisVersion();
  if (version === null)
    throw new SetUpError(
      "Redis was installed, but redis-server is not on the PATH: add its folder, then run this again.",
    );
  if (!isNewEnough(version)) {
    throw new SetUpError(
      `redis-server on the PATH is ${version[0].slice(2)}, Espalier needs ${wanted} or newer: install one as redis.io says, or set REDIS_URL to one that runs, then run this again.`,
    );
  }
}

// --- models

const modelsFolder = resolve(process.cwd(), process.env.ESPALIER_MODELS || join(ROOT, ".models"));
const usesLocalModels = (process.env.EMBEDDING_PROVIDER || "local") === "local";

// --- build

const BUILD_STAMP = join(ROOT, "dist", ".sources");

/** One hash over everything that the build reads. */
async function sourcesHash() {
  const files = ["nest-cli.json", "tsconfig.json", ".swcrc", "package.json"];
  for (const folder of ["apps", "libs", "bench", "test/support"]) {
    const entries = await readdir(join(ROOT, folder), { recursive: true }).catch(() => []);
    files.push(
      ...entries.filter((name) => /\.ts$/.test(name) && !/\.spec\.ts$/.test(name)).map((name) => join(folder, name)),
    );
  }
  const hash = createHash("sha256");
  for (const file of files.sort()) hash.update(`${file}\0`).update(await readFile(join(ROOT, file)));
  return hash.digest("hex");
}

const isBuilt = async () => (await textOf(BUILD_STAMP)) === (await sourcesHash());

/** Builds beside dist and moves there: what runs from dist meanwhile never sees half a build. */
async function build() {
  say("building (again after every change of the sources)");
  const staging = join(CACHE, "build");
  await rm(staging, { recursive: true, force: true });
  await mkdir(staging, { recursive: true });
  const stamp = await sourcesHash();
  const config = JSON.parse(await readFile(join(ROOT, "nest-cli.json"), "utf8"));
  config.compilerOptions.deleteOutDir = false;
  config.compilerOptions.builder.options.outDir = join(".cache", "build", "dist");
  const configFile = join(".cache", "build", "nest-cli.json");
  await writeFile(join(ROOT, configFile), JSON.stringify(config));
  const log = join(CACHE, "setup-build.log");
  const nest = join(ROOT, "node_modules", "@nestjs", "cli", "bin", "nest.js");
  const { code, output } = await run(process.execPath, [nest, "build", "--config", configFile], { log });
  const built = (await textOf(join(staging, "dist", "apps", "cli", "src", "main.js"))) !== undefined;
  if (code !== 0 || !built) {
    throw new SetUpError(
      `The build failed (${firstLine(output, /error|fail/i)}): mend the sources; the whole output is in ${relative(process.cwd(), log)}.`,
    );
  }
  await writeFile(join(staging, "dist", ".sources"), stamp);
  const old = join(CACHE, "build", "old");
  await rename(join(ROOT, "dist"), old).catch(() => undefined);
  await rename(join(staging, "dist"), join(ROOT, "dist"));
  await rm(staging, { recursive: true, force: true });
}

// --- all of it

const STEPS = [
  { isDone: arePackagesThere, take: installPackages },
  { isDone: isRedisThere, take: installRedis },
  {
    isDone: async () => !usesLocalModels || (await areModelsSetUp({ modelsFolder })),
    take: () => setUpModels({ modelsFolder, log: say }),
  },
  { isDone: isBuilt, take: build },
];

const allDone = async () => (await Promise.all(STEPS.map((step) => step.isDone()))).every(Boolean);

/** Runs `work` while no other process does. */
async function alone(work) {
  const lock = new DatabaseSync(join(CACHE, "setup.lock"));
  try {
    lock.exec("BEGIN IMMEDIATE");
  } catch {
    say("another set-up is running, waiting for it");
    lock.exec(`PRAGMA busy_timeout = ${LOCK_WAIT_MS}`);
    try {
      lock.exec("BEGIN IMMEDIATE");
    } catch {
      throw new SetUpError("Another set-up did not end within 20 minutes: look at it, then run this again.");
    }
  }
  try {
    await work();
  } finally {
    lock.close();
  }
}

try {
  if (!(await allDone())) {
    await mkdir(CACHE, { recursive: true }).catch((error) => {
      throw new SetUpError(`${CACHE} cannot be made (${error.code}): make the checkout writable, then run this again.`);
    });
    await alone(async () => {
      for (const step of STEPS) if (!(await step.isDone())) await step.take();
    });
  }
} catch (error) {
  // Errors of the models' set-up are such sentences as well.
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
