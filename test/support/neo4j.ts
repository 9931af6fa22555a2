/**
 * A real Neo4j (Community, embedded start, no Docker) for tests. The jars come from Maven once and lie in `.cache/neo4j`.
 *
 * `neo4jServer` is the server of this Jest worker: started by the first file that asks, shared by the files that follow in
 * the same worker, ended with the run by its watchdog. Files that run at the same time are in different workers and so have
 * different servers: Community has one database a server, and suites use the same names of memories, so that sharing one
 * would mean waiting for each other. `startNeo4j` is a server of one's own, to be killed and started again.
 */
import { spawn, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { beforeAll, describe } from "@jest/globals";
import neo4j from "neo4j-driver";
import { until } from "./until.js";

const VERSION = "5.26.30";
/** The same from the sources and from the build. */
const ROOT = resolve(import.meta.dirname, "../..").replace(/\/dist$/, "");
const CACHE = join(ROOT, ".cache", "neo4j");
const JARS = join(CACHE, `lib-${VERSION}`);
/** Where the system has its short-lived files: in memory under Jest, if there is room (jest.config.mjs). */
const RUNS = join(tmpdir(), "espalier-test-neo4j");
/** The process with which servers end: Jest's own, not a worker of it. */
const RUN = Number(process.env["ESPALIER_TEST_RUN"] ?? process.pid);
/** A start takes 3.5 s on an idle machine, a recovery after SIGKILL 18 s. */
const START_MS = 120_000;

/** Why no Neo4j can run on this machine. */
export interface Neo4jMissing {
  readonly skipped: string;
}

/** A server of one's own. */
export interface TestNeo4j {
  /** `bolt://127.0.0.1:PORT`, the same after a restart. */
  readonly uri: string;
  /** SIGTERM: it ends in order, so that it can be started read-only. */
  stop(): Promise<void>;
  /** SIGKILL, as a crash would. */
  kill(): Promise<void>;
  /** Starts it again with the data it had, and more lines of configuration until the next start; ready when it answers. */
  start(...settings: readonly string[]): Promise<void>;
  /** SIGSTOP and SIGCONT: a server that is there but does not answer. */
  freeze(): Promise<void>;
  thaw(): Promise<void>;
  /** Ends it and removes its folder. */
  close(): Promise<void>;
}

/** The server that the files of this Jest worker share. It may hold rows of the files before. */
export async function neo4jServer(): Promise<{ readonly uri: string } | Neo4jMissing> {
  const missing = await whatIsMissing();
  if (missing !== undefined) return missing;
  const home = join(RUNS, `${RUN}-worker-${process.env["JEST_WORKER_ID"] ?? "1"}`);
  const running = await readFile(join(home, "uri"), "utf8").catch(() => undefined);
  if (running !== undefined) return { uri: running };
  await sweep();
  const { uri } = await open(home, {});
  await writeFile(join(home, "uri"), uri);
  return { uri };
}

/**
 * A suite that needs Neo4j, on this worker's server with an empty database. Where none can run, its tests are skipped by
 * name. Called with `await` at the top of a file.
 */
export async function describeWithNeo4j(name: string, suite: (uri: string) => void): Promise<void> {
  const server = await neo4jServer();
  if ("skipped" in server) {
    describe.skip(name, () => {
      suite("bolt://not-there");
    });
    return;
  }
  describe(name, () => {
    beforeAll(() => emptyNeo4j(server.uri));
    suite(server.uri);
  });
}

/** Removes every node; constraints and indexes stay. */
export async function emptyNeo4j(uri: string): Promise<void> {
  const driver = neo4j.driver(uri);
  const session = driver.session();
  try {
    await session.run("MATCH (n) CALL (n) { DETACH DELETE n } IN TRANSACTIONS OF 5000 ROWS");
  } finally {
    await driver.close();
  }
}

/** A fresh server with an empty database. With `password`, user `neo4j` has to give it. */
export async function startNeo4j(options: { readonly password?: string } = {}): Promise<TestNeo4j | Neo4jMissing> {
  const missing = await whatIsMissing();
  if (missing !== undefined) return missing;
  const port = await freePort();
  return open(join(RUNS, `${RUN}-own-${port}`), { ...options, port });
}

async function open(home: string, options: { readonly password?: string; readonly port?: number }): Promise<TestNeo4j> {
  const port = options.port ?? (await freePort());
  const uri = `bolt://127.0.0.1:${port}`;
  await rm(home, { recursive: true, force: true });
  for (const folder of ["conf", "data", "logs", "run", "plugins", "import"]) {
    await mkdir(join(home, folder), { recursive: true });
  }
  const server = new Server(home, uri, configuration(port, options.password !== undefined));
  await server.start();
  if (options.password !== undefined) await setPassword(uri, options.password);
  return server;
}

class Server implements TestNeo4j {
  constructor(
    private readonly home: string,
    readonly uri: string,
    private readonly configuration: string,
  ) {}

  async start(...settings: readonly string[]): Promise<void> {
    await writeFile(join(this.home, "conf", "neo4j.conf"), `${this.configuration}${settings.join("\n")}\n`);
    await rm(join(this.home, "server.pid"), { force: true });
    const watchdog = join(import.meta.dirname, `neo4j-watchdog${import.meta.filename.slice(-3)}`);
    spawn(process.execPath, ["--no-warnings", watchdog, String(RUN), this.home, ...command(this.home)], {
      detached: true,
      stdio: "ignore",
      env: { ...process.env, NODE_OPTIONS: "" },
    }).unref();
    await until(async () => (await answers(this.uri)) || undefined, START_MS);
  }

  async stop(): Promise<void> {
    const pid = await this.#pid();
    process.kill(pid, "SIGTERM");
    await until(() => !isAlive(pid) || undefined);
  }

  async kill(): Promise<void> {
    const pid = await this.#pid();
    process.kill(pid, "SIGKILL");
    await until(() => !isAlive(pid) || undefined);
  }

  async freeze(): Promise<void> {
    const pid = await this.#pid();
    process.kill(pid, "SIGSTOP");
    await until(() => isStopped(pid) || undefined);
  }

  async thaw(): Promise<void> {
    process.kill(await this.#pid(), "SIGCONT");
  }

  async close(): Promise<void> {
    await this.kill();
    await rm(this.home, { recursive: true, force: true });
  }

  async #pid(): Promise<number> {
    return Number(await readFile(join(this.home, "server.pid"), "utf8"));
  }
}

function command(home: string): readonly string[] {
  const opened = ["java.base/java.nio", "java.base/java.io", "java.base/sun.nio.ch", "java.base/java.util.concurrent"];
  return [
    ...["java", "-Xms256m", "-Xmx512m", "-XX:+UseG1GC", "-XX:+DisableExplicitGC"],
    "-Dio.netty.tryReflectionSetAccessible=true",
    ...opened.map((name) => `--add-opens=${name}=ALL-UNNAMED`),
    ...["-Dlog4j2.disable.jmx=true", "-Dfile.encoding=UTF-8", "-cp", join(JARS, "*")],
    ...["org.neo4j.server.CommunityEntryPoint", `--home-dir=${home}`, `--config-dir=${join(home, "conf")}`],
    "--console-mode",
  ];
}

function configuration(port: number, authenticated: boolean): string {
  return [
    "server.default_listen_address=127.0.0.1",
    `server.bolt.listen_address=127.0.0.1:${port}`,
    "server.http.enabled=false",
    "server.https.enabled=false",
    `dbms.security.auth_enabled=${authenticated}`,
    "dbms.usage_report.enabled=false",
    "server.memory.pagecache.size=128m",
    "db.tx_log.preallocate=false",
    "db.tx_log.rotation.size=16m",
    "db.tx_log.rotation.retention_policy=keep_none",
    "db.checkpoint.interval.time=1m",
    "",
  ].join("\n");
}

async function answers(uri: string): Promise<boolean> {
  // eslint-disable-next-line @typescript-eslint/no-unsafe-class-instance-assignment -- options of the driver are plain objects
  const driver = neo4j.driver(uri, undefined, { maxTransactionRetryTime: 0 });
  try {
    // The server answers before its database does.
    await driver.executeQuery("RETURN 1");
    return true;
  } catch (error) {
    return error instanceof neo4j.Neo4jError && error.code === "Neo.ClientError.Security.Unauthorized";
  } finally {
    await driver.close();
  }
}

async function setPassword(uri: string, password: string): Promise<void> {
  const driver = neo4j.driver(uri, neo4j.auth.basic("neo4j", "neo4j"));
  try {
    // eslint-disable-next-line @typescript-eslint/no-unsafe-class-instance-assignment -- options of the driver are plain objects
    const session = driver.session({ database: "system" });
    await session.run("ALTER CURRENT USER SET PASSWORD FROM 'neo4j' TO $password", { password });
  } finally {
    await driver.close();
  }
}

// --- what it needs

let missing: Promise<Neo4jMissing | undefined> | undefined;

/** Looks for Java and the jars, and fetches the jars; says in one line what is missing. */
function whatIsMissing(): Promise<Neo4jMissing | undefined> {
  missing ??= findMissing().then((skipped) => {
    if (skipped === undefined) return undefined;
    process.stderr.write(`Skipping the suites that need Neo4j: ${skipped}\n`);
    return { skipped };
  });
  return missing;
}

async function findMissing(): Promise<string | undefined> {
  if (!isThere("java", "-version")) return "there is no java on the PATH (Neo4j 5.26 needs Java 17 or 21).";
  if (existsSync(JARS)) return undefined;
  if (!isThere("mvn", "-version")) return "its jars are not there and there is no mvn on the PATH to fetch them.";
  return fetchJars();
}

const isThere = (program: string, argument: string): boolean =>
  spawnSync(program, [argument], { stdio: "ignore" }).status === 0;

/** Every worker may fetch at once; the first that is done wins. Answers why it failed. */
async function fetchJars(): Promise<string | undefined> {
  const folder = join(CACHE, `fetch-${process.pid}`);
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, "pom.xml"), POM);
  const plugin = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies";
  const args = ["-q", "-B", plugin, "-DincludeScope=runtime", "-DoutputDirectory=lib"];
  const { status, stdout } = spawnSync("mvn", args, { cwd: folder, encoding: "utf8" });
  if (status === 0) await rename(join(folder, "lib"), JARS).catch(() => undefined);
  await rm(folder, { recursive: true, force: true });
  if (existsSync(JARS)) return undefined;
  const reason = stdout.split("\n").find((line) => line.includes("ERROR")) ?? "no output";
  return `Maven could not fetch its jars (${reason.slice(0, 200)}).`;
}

const POM = `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>espalier</groupId>
  <artifactId>neo4j-for-tests</artifactId>
  <version>1</version>
  <dependencies>
    <dependency><groupId>org.neo4j</groupId><artifactId>neo4j</artifactId><version>${VERSION}</version></dependency>
  </dependencies>
</project>
`;

/** Ends what runs left behind whose watchdog was killed too. */
async function sweep(): Promise<void> {
  for (const name of await readdir(RUNS).catch(() => [])) {
    if (isAlive(Number.parseInt(name, 10))) continue;
    const home = join(RUNS, name);
    const pid = Number(await readFile(join(home, "server.pid"), "utf8").catch(() => ""));
    if (pid > 0 && commandOf(pid).includes(home)) process.kill(pid, "SIGKILL");
    await rm(home, { recursive: true, force: true });
  }
}

/** The process ids of the system come round again: a server is told by its command line. */
const commandOf = (pid: number): string =>
  spawnSync("ps", ["-o", "args=", "-p", String(pid)], { encoding: "utf8" }).stdout;

/** A signal that stops is delivered thread by thread: until then the server still answers. */
const isStopped = (pid: number): boolean =>
  spawnSync("ps", ["-o", "state=", "-p", String(pid)], { encoding: "utf8" }).stdout.startsWith("T");

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
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
