import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { Redis } from "ioredis";
import { pino } from "pino";
import { dataFolder, makeFolders, type DataFolder } from "./data-folder.js";
import { until } from "../../../../test/support/until.js";
import { pings, startPrivateRedis } from "./private-redis.js";
import type { Supervised } from "./supervise.js";

const silent = pino({ level: "silent" });
let folder: DataFolder;
const started: Supervised[] = [];

const start = async (): Promise<Supervised> => {
  const redis = await startPrivateRedis(folder, silent);
  started.push(redis);
  return redis;
};

const withClient = async <T>(work: (client: Redis) => Promise<T>): Promise<T> => {
  const client = new Redis({ path: folder.redisSocket, retryStrategy: () => null });
  try {
    return await work(client);
  } finally {
    client.disconnect();
  }
};

beforeEach(() => {
  folder = dataFolder(join(mkdtempSync(join(tmpdir(), "espalier-redis-")), "data"));
  makeFolders(folder);
});

afterEach(async () => {
  for (const redis of started.splice(0)) await redis.stop(2_000);
  rmSync(dirname(folder.path), { recursive: true, force: true });
});

test("the private Redis listens on no port, appends to a file, never evicts, and its socket is its owner's alone", async () => {
  await start();
  const settings = await withClient((client) => client.config("GET", "*"));
  const values = new Map<string, string>();
  const list = settings;
  for (let index = 0; index < list.length; index += 2) values.set(list[index] ?? "", list[index + 1] ?? "");
  expect(values.get("port")).toBe("0");
  expect(values.get("appendonly")).toBe("yes");
  expect(values.get("appendfsync")).toBe("everysec");
  expect(values.get("maxmemory-policy")).toBe("noeviction");
  expect(statSync(folder.redisSocket).mode & 0o077).toBe(0);
  expect(statSync(dirname(folder.redisSocket)).mode & 0o777).toBe(0o700);
});

test("what a Redis knew is there after a stop and a start", async () => {
  const first = await start();
  await withClient((client) => client.set("kept", "yes"));
  await first.stop(2_000);
  await start();
  expect(await withClient((client) => client.get("kept"))).toBe("yes");
});

test("an orphan that a killed up left is ended before the next start, and loses nothing", async () => {
  await (await start()).stop(2_000);
  // As after kill -9 of its parent: the same server with the same configuration, and nobody supervises it.
  const orphan = spawn("redis-server", [join(folder.redisFolder, "redis.conf")], { stdio: "ignore" });
  await until(async () => (await pings(folder.redisSocket)) || undefined);
  await withClient((client) => client.set("kept", "yes"));
  const ended = once(orphan, "exit");
  await start();
  await ended;
  expect(await withClient((client) => client.get("kept"))).toBe("yes");
  expect(Number.parseInt(readFileSync(join(folder.redisFolder, "redis.pid"), "utf8"), 10)).not.toBe(orphan.pid);
});
