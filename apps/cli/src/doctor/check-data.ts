import { existsSync, statSync } from "node:fs";
import { parseConfig } from "#core";
import { connectRedis } from "#jobs";
import { inspectDatabase } from "#stores";
import { isLocked, readRunning, type DataFolder } from "../embedded/data-folder.js";
import { setting } from "../locations.js";
import { failed, find, ok, skipped, type Finding } from "./finding.js";

const CONNECT_MS = 2_000;

/** The data folder: who runs on it, its database, its key file; and the Redis that keeps its jobs. */
export async function checkData(folder: DataFolder, environment: NodeJS.ProcessEnv): Promise<readonly Finding[]> {
  return [
    await find("data folder", async () => checkFolder(folder)),
    await find("database", async () => checkDatabase(folder)),
    await find("vectors", async () => checkVectors(folder)),
    await find("admin key", async () => checkKeyFile(folder)),
    await find("redis", () => checkRedis(folder, environment)),
  ];
}

function checkFolder(folder: DataFolder) {
  if (!existsSync(folder.path)) return skipped(`${folder.path} does not exist yet: bin/espalier up makes it`);
  if (!isLocked(folder)) return ok(`${folder.path}, no up runs on it`);
  const running = readRunning(folder);
  return ok(`${folder.path}, up runs as pid ${running?.pid ?? "unknown"}`);
}

function checkDatabase(folder: DataFolder) {
  const found = inspectDatabase(folder.path);
  if (found === undefined) return skipped("there is none yet");
  if (found.damages.length > 0) {
    return failed(`SQLite found damage (${found.damages[0]}): restore a backup, see docs/operations/embedded.md`);
  }
  return ok(`sound; memories ${found.memories}, nodes ${found.nodes}, keys ${found.keys}`);
}

function checkVectors(folder: DataFolder) {
  const found = inspectDatabase(folder.path);
  if (found === undefined) return skipped("there is no database yet");
  const [first] = found.drifted;
  return first === undefined
    ? ok("as many as live nodes with a text, in every memory")
    : failed(
        `${found.drifted.length} memories differ, first ${first.memory}: ${first.texts} texts, ${first.vectors} vectors; queries compute what is missing`,
      );
}

function checkKeyFile(folder: DataFolder) {
  if (!existsSync(folder.keyFile)) return skipped("no key file here");
  const mode = statSync(folder.keyFile).mode & 0o777;
  return mode === 0o600
    ? ok(`${folder.keyFile}, mode 0600`)
    : failed(
        `${folder.keyFile} has mode 0${mode.toString(8)}: chmod 600 it, and replace the key if others could read it`,
      );
}

/** Jobs survive only in a Redis that appends to a file and never evicts. */
async function checkRedis(folder: DataFolder, environment: NodeJS.ProcessEnv) {
  const url = setting(environment, "REDIS_URL") === undefined ? undefined : parseConfig(environment).redisUrl;
  if (url === undefined && !isLocked(folder)) return skipped("the private one runs with up only");
  const redis = connectRedis(url ?? folder.redisSocket, "worker", {
    ...{ connectTimeout: CONNECT_MS, retryStrategy: () => null, maxRetriesPerRequest: 0, lazyConnect: true },
  });
  try {
    await redis.connect();
    const value = async (name: string): Promise<string> => (await redis.config("GET", name))[1] ?? "";
    const [appends, policy, info] = [
      await value("appendonly"),
      await value("maxmemory-policy"),
      await redis.info("server"),
    ];
    const version = /redis_version:(\S+)/.exec(info)?.[1] ?? "unknown version";
    if (appends !== "yes") return failed(`${version} has no append-only file, jobs die with it: set appendonly yes`);
    if (policy !== "noeviction")
      return failed(`${version} may evict jobs (${policy}): set maxmemory-policy noeviction`);
    return ok(`${version}, append-only file on, never evicts`);
  } catch (error) {
    const look = url === undefined ? `look at ${folder.redisFolder}/redis.log` : "look at REDIS_URL and REDIS_PASSWORD";
    return failed(`it cannot be reached (${(error as Error).message}): ${look}`);
  } finally {
    redis.disconnect();
  }
}
