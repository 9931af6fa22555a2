import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Redis } from "ioredis";

/** A private redis-server of one test, on a unix socket in a folder of its own. */
export interface TestRedis {
  /** Path of the socket: what `createJobClient` and friends take. */
  readonly address: string;
  /** Starts it again after `kill` or `stop`, with what its append-only file holds. */
  start(): Promise<void>;
  /** SIGKILL, as a crash would. */
  kill(): Promise<void>;
  /** SIGSTOP and SIGCONT: a Redis that is there but does not answer. */
  freeze(): void;
  thaw(): void;
  /** Ends it and removes its folder. */
  close(): Promise<void>;
}

const started = new Set<ChildProcess>();

// A test run that is cut short must not leave servers behind.
process.once("exit", () => {
  for (const server of started) server.kill("SIGKILL");
});

/** A redis-server with the settings that the product wants (append-only file, no eviction). Ready when it answers. */
export async function startRedis(options: { readonly maxMemory?: string } = {}): Promise<TestRedis> {
  const folder = await mkdtemp(join(tmpdir(), "espalier-redis-"));
  const address = join(folder, "redis.sock");
  let server: ChildProcess | undefined;

  const kill = async (): Promise<void> => {
    if (server === undefined) return;
    const dead = server;
    server = undefined;
    const exited = once(dead, "exit");
    dead.kill("SIGKILL");
    await exited;
    started.delete(dead);
  };
  const start = async (): Promise<void> => {
    server ??= launch(folder, address, options.maxMemory);
    await answering(address, server);
  };

  await start();
  return {
    address,
    start,
    kill,
    freeze: () => server?.kill("SIGSTOP"),
    thaw: () => server?.kill("SIGCONT"),
    close: async () => {
      await kill();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function launch(folder: string, socket: string, maxMemory: string | undefined): ChildProcess {
  const args = [
    ...["--port", "0", "--unixsocket", socket, "--unixsocketperm", "700", "--dir", folder, "--save", ""],
    ...["--appendonly", "yes", "--appendfsync", "everysec", "--maxmemory-policy", "noeviction"],
    ...(maxMemory === undefined ? [] : ["--maxmemory", maxMemory]),
  ];
  const server = spawn("redis-server", args, { stdio: "ignore" });
  started.add(server);
  return server;
}

async function answering(socket: string, server: ChildProcess): Promise<void> {
  const died = once(server, "exit").then(() => Promise.reject(new Error("redis-server ended at its start")));
  const redis = new Redis({ path: socket, retryStrategy: () => 10, maxRetriesPerRequest: null });
  redis.on("error", () => undefined);
  try {
    await Promise.race([redis.ping(), died]);
  } finally {
    died.catch(() => undefined);
    redis.disconnect();
  }
}
