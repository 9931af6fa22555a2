import { execFile, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { Cluster } from "ioredis";
import { until } from "./until.js";

/** Three masters with a replica each, as Redis wants a cluster. */
const NODES = 6;

/** A private Redis Cluster of one test run. */
export interface TestRedisCluster {
  /** What `createJobClient` and friends take. */
  readonly address: string;
  close(): Promise<void>;
}

const started = new Set<ChildProcess>();

process.once("exit", () => {
  for (const server of started) server.kill("SIGKILL");
});

/** Six redis-servers on loopback, made a cluster. Ready when every slot is served. */
export async function startRedisCluster(): Promise<TestRedisCluster> {
  const folder = await mkdtemp(join(tmpdir(), "espalier-cluster-"));
  const ports = await freePorts(NODES);
  const servers = ports.map((port) => launch(folder, port));
  for (const server of servers) started.add(server);
  await until(() => everyNodeAnswers(ports));
  const nodes = ports.map((port) => `127.0.0.1:${port}`);
  await run("redis-cli", ["--cluster", "create", ...nodes, "--cluster-replicas", "1", "--cluster-yes"]);
  const cluster = new Cluster([{ host: "127.0.0.1", port: ports[0] ?? 0 }]);
  cluster.on("error", () => undefined);
  await until(async () => (await cluster.cluster("INFO")).includes("cluster_state:ok") || undefined);
  cluster.disconnect();
  return {
    address: `redis+cluster://${nodes[0]}?node=${nodes[1]}`,
    close: async () => {
      for (const server of servers) {
        const exited = once(server, "exit");
        server.kill("SIGKILL");
        await exited;
        started.delete(server);
      }
      await rm(folder, { recursive: true, force: true });
    },
  };
}

const run = promisify(execFile);

function launch(folder: string, port: number): ChildProcess {
  const args = [
    ...["--port", String(port), "--bind", "127.0.0.1", "--dir", folder, "--save", "", "--appendonly", "no"],
    ...["--cluster-enabled", "yes", "--cluster-config-file", `nodes-${port}.conf`, "--maxmemory-policy", "noeviction"],
  ];
  return spawn("redis-server", args, { stdio: "ignore" });
}

async function everyNodeAnswers(ports: readonly number[]): Promise<true | undefined> {
  try {
    await Promise.all(ports.map((port) => run("redis-cli", ["-p", String(port), "ping"])));
    return true;
  } catch {
    return undefined;
  }
}

/** Ports that nobody listens on, and whose bus ports (10,000 higher) exist. */
async function freePorts(count: number): Promise<readonly number[]> {
  const found: number[] = [];
  while (found.length < count) {
    const server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    server.close();
    await once(server, "close");
    if (port < 55_000 && !found.includes(port)) found.push(port);
  }
  return found;
}
