import {
  chmodSync,
  closeSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { createHash } from "node:crypto";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { CommandError } from "../command-error.js";

/** A unix socket's path has room for 104 (macOS) to 108 (Linux) bytes, its end included. */
const SOCKET_PATH_BYTES = 103;

/** What the running `up` of a data folder says about itself. */
export interface RunningUp {
  readonly pid: number;
  /** Absent until it is ready. */
  readonly url?: string;
}

/** Where things lie in DIR (docs/operations/embedded.md). */
export interface DataFolder {
  readonly path: string;
  /** The first key's secret, mode 0600. */
  readonly keyFile: string;
  /** Configuration, append-only file, log and pid of the private Redis. */
  readonly redisFolder: string;
  /** In a folder that only this user can enter. */
  readonly redisSocket: string;
}

/** The places in `path`; touches nothing. */
export function dataFolder(path: string): DataFolder {
  const folder = resolve(path);
  return {
    path: folder,
    keyFile: join(folder, "admin.key"),
    redisFolder: join(folder, "redis"),
    redisSocket: socketPath(folder),
  };
}

/** In DIR where the path is short enough, else in a folder of the system's temporary one, named by DIR. */
function socketPath(folder: string): string {
  const inside = join(folder, "run", "redis.sock");
  // Only what needs no quoting anywhere: the path becomes part of a URL.
  if (Buffer.byteLength(inside) <= SOCKET_PATH_BYTES && /^[\w./-]+$/.test(inside)) return inside;
  const name = createHash("sha256").update(folder).digest("hex").slice(0, 16);
  const owner = process.getuid?.() ?? 0;
  return join(tmpdir(), `espalier-${owner}-${name}`, "redis.sock");
}

/** Makes the folders of a data folder, closed to other users. */
export function makeFolders(folder: DataFolder): void {
  for (const path of [folder.path, folder.redisFolder, dirname(folder.redisSocket)]) {
    try {
      mkdirSync(path, { recursive: true, mode: 0o700 });
    } catch (error) {
      throw new CommandError(`The folder ${path} cannot be made: choose another one with --data.`, { cause: error });
    }
  }
  const socketFolder = dirname(folder.redisSocket);
  // A folder of that name in the temporary folder may be someone else's trap.
  if (statSync(socketFolder).uid !== process.getuid?.()) {
    throw new CommandError(`${socketFolder} belongs to another user: remove it, or choose another folder with --data.`);
  }
  chmodSync(socketFolder, 0o700);
  chmodSync(folder.redisFolder, 0o700);
}

/** The lock of a data folder. */
export interface FolderLock {
  /** Records where the API answers, for the client commands. */
  publish(url: string): void;
  release(): void;
}

/**
 * Takes the folder for this process: an exclusive SQLite transaction on a file of its own, which the system ends with the
 * process however it ends, so no lock ever goes stale and two takers never both succeed.
 * @throws CommandError naming the process that has it
 */
export function lockFolder(folder: DataFolder): FolderLock {
  const file = join(folder.path, "up.lock");
  // SQLite would make it readable for everyone.
  closeSync(openSync(file, "a", 0o600));
  chmodSync(file, 0o600);
  const lock = new DatabaseSync(file);
  try {
    lock.exec("BEGIN EXCLUSIVE");
  } catch (error) {
    lock.close();
    const pid = readRunning(folder)?.pid;
    throw new CommandError(
      `The data folder ${folder.path} is in use by another espalier up${pid === undefined ? "" : ` (pid ${pid})`}: stop that one first, or choose another folder with --data.`,
      { cause: error },
    );
  }
  writeRunning(folder, { pid: process.pid });
  return {
    publish: (url) => {
      writeRunning(folder, { pid: process.pid, url });
    },
    release: () => {
      rmSync(runningFile(folder), { force: true });
      // In the system's temporary folder nobody else would remove it.
      const socketFolder = dirname(folder.redisSocket);
      if (!socketFolder.startsWith(folder.path)) rmSync(socketFolder, { recursive: true, force: true });
      lock.close();
    },
  };
}

/** True if an `up` holds the folder now. */
export function isLocked(folder: DataFolder): boolean {
  let probe: DatabaseSync;
  try {
    probe = new DatabaseSync(join(folder.path, "up.lock"), { readOnly: true });
  } catch {
    return false;
  }
  try {
    probe.exec("SELECT count(*) FROM sqlite_schema");
    return false;
  } catch {
    return true;
  } finally {
    probe.close();
  }
}

/** What the folder's `up` wrote about itself; undefined if none did, or the file is half-way. */
export function readRunning(folder: DataFolder): RunningUp | undefined {
  try {
    return JSON.parse(readFileSync(runningFile(folder), "utf8")) as RunningUp;
  } catch {
    return undefined;
  }
}

function writeRunning(folder: DataFolder, running: RunningUp): void {
  const staged = `${runningFile(folder)}.new`;
  writeFileSync(staged, `${JSON.stringify(running)}\n`, { mode: 0o600 });
  renameSync(staged, runningFile(folder));
}

function runningFile(folder: DataFolder): string {
  return join(folder.path, "up.json");
}
