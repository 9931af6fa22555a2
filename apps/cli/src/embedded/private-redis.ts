import { spawn, type ChildProcess } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { Logger } from "pino";
import { CommandError } from "../command-error.js";
import type { DataFolder } from "./data-folder.js";
import { commandOf, hasEnded, signal } from "./processes.js";
import { supervise, type Supervised } from "./supervise.js";

/** A large append-only file is read at about 100 MB/s: after this long something else is wrong. */
const READY_MS = 60_000;
const POLL_MS = 10;
const ORPHAN_GRACE_MS = 5_000;

/** The address of a data folder's Redis, as every part takes it. */
export function redisAddress(folder: DataFolder): string {
  return `unix://${folder.redisSocket}`;
}

/**
 * Starts the Redis of a data folder: reachable through a unix socket in a closed folder only, append-only file flushed
 * every second, never evicting. An orphan that a killed `up` left is stopped first, for two servers must not write one
 * append-only file. The folder's lock is held by the caller.
 */
export async function startPrivateRedis(folder: DataFolder, logger: Logger): Promise<Supervised> {
  const config = join(folder.redisFolder, "redis.conf");
  await stopOrphan(folder, config, logger);
  writeFileSync(config, configText(folder), { mode: 0o600 });
  const redis = supervise(
    {
      name: "redis",
      // Of a process group of its own: a Ctrl-C in the terminal reaches `up` only, which stops Redis last.
      spawn: () => spawn("redis-server", [config], { detached: true, stdio: "ignore", cwd: folder.redisFolder }),
      ready: (child) => answers(folder.redisSocket, child),
      beforeRestart: async () => {
        rmSync(folder.redisSocket, { force: true });
      },
      // Redis writes its append-only file out and ends.
      killSignal: "SIGTERM",
    },
    logger,
  );
  try {
    await redis.firstReady;
  } catch (error) {
    redis.kill();
    throw new CommandError(
      `The private Redis did not start (${lastLogLine(folder)}): see ${logFile(folder)}, then run this again.`,
      { cause: error },
    );
  }
  return redis;
}

/** Ends what the pid file names, if it is a redis-server with this folder's configuration. */
async function stopOrphan(folder: DataFolder, config: string, logger: Logger): Promise<void> {
  const pid = readPid(folder);
  if (pid !== undefined && commandOf(pid).includes(config)) {
    logger.warn({ orphan: pid }, "stopping the Redis that an earlier run left");
    signal(pid, "SIGTERM");
    if (!(await hasEnded(pid, ORPHAN_GRACE_MS))) {
      signal(pid, "SIGKILL");
      await hasEnded(pid, ORPHAN_GRACE_MS);
    }
  }
  rmSync(folder.redisSocket, { force: true });
}

function configText(folder: DataFolder): string {
  return [
    "# Written by espalier up at every start.",
    "port 0",
    `unixsocket ${quoted(folder.redisSocket)}`,
    "unixsocketperm 700",
    `dir ${quoted(folder.redisFolder)}`,
    `pidfile ${quoted(pidFile(folder))}`,
    `logfile ${quoted(logFile(folder))}`,
    "loglevel warning",
    "daemonize no",
    // The command line stays as it was started: it tells an orphan of ours from a stranger.
    "set-proc-title no",
    "appendonly yes",
    "appendfsync everysec",
    'save ""',
    "maxmemory-policy noeviction",
    "",
  ].join("\n");
}

function quoted(path: string): string {
  return `"${path.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;
}

/** Resolves when the server at a socket has read its data and answers PING, or is gone. */
async function answers(socket: string, server: ChildProcess): Promise<void> {
  const deadline = performance.now() + READY_MS;
  while (!(await pings(socket))) {
    if (server.pid === undefined || server.exitCode !== null || server.signalCode !== null) return;
    if (performance.now() > deadline) throw new Error(`Redis did not answer within ${READY_MS / 1_000} s.`);
    await pause(POLL_MS);
  }
}

/** True if PING is answered with PONG (while it loads its data, Redis answers an error). */
export function pings(socket: string): Promise<boolean> {
  return new Promise((resolve) => {
    const connection = connect(socket);
    const end = (alive: boolean): void => {
      connection.destroy();
      resolve(alive);
    };
    connection.setTimeout(1_000, () => {
      end(false);
    });
    connection.once("connect", () => connection.write("PING\r\n"));
    connection.once("data", (reply) => {
      end(reply.toString().startsWith("+PONG"));
    });
    connection.once("error", () => {
      end(false);
    });
  });
}

function readPid(folder: DataFolder): number | undefined {
  try {
    const pid = Number.parseInt(readFileSync(pidFile(folder), "utf8"), 10);
    return Number.isSafeInteger(pid) && pid > 1 ? pid : undefined;
  } catch {
    return undefined;
  }
}

function pidFile(folder: DataFolder): string {
  return join(folder.redisFolder, "redis.pid");
}

function logFile(folder: DataFolder): string {
  return join(folder.redisFolder, "redis.log");
}

function lastLogLine(folder: DataFolder): string {
  try {
    return readFileSync(logFile(folder), "utf8").trim().split("\n").at(-1) ?? "";
  } catch {
    return "it wrote no log";
  }
}
