/**
 * One SQLite file as a process uses it: a connection for reads and one for writes, so that reads go on beside a long commit.
 *
 * - A read is one read transaction: everything in it sees one state of the file.
 * - A write is one immediate transaction; writers of a process take turns, other processes are waited for without blocking
 *   the event loop, up to a deadline. A long write is a generator: at each `yield` other work of the process has its turn.
 * - A database in memory has one connection, so its writes never yield.
 */
import { closeSync, openSync } from "node:fs";
import { setImmediate, setTimeout } from "node:timers/promises";
import { DatabaseSync } from "node:sqlite";
import { Mutex } from "async-mutex";
import { load as loadVectorFunctions } from "sqlite-vec";
import { type Clock, EspalierError } from "#core";
import { Connection } from "./connection.js";
import { registerFunctions } from "./functions.js";
import { type Migration, migrate } from "./migrate.js";
import { isBusy, toStoreError } from "./sqlite-errors.js";

/** What a write does; it yields wherever it can pause. */
export type Write<T> = (connection: Connection) => Generator<void, T, void>;

/** How a file is opened. */
export interface DatabaseOptions {
  /** A path, or `:memory:`. */
  readonly path: string;
  readonly migrations: readonly Migration[];
  /** `full`: what is committed survives a power cut; `normal`: it survives the death of the process. */
  readonly synchronous: "full" | "normal";
  /** How long a call waits for the locks of other processes. */
  readonly lockWaitMs: number;
  readonly clock: Clock;
}

/** Pages of 8 KiB hold five vectors of 384 dimensions where 4 KiB hold two. */
const PAGE_BYTES = 8_192;
/** SQLite's own wait while a connection is opened: switching to WAL and migrating hold the lock for a moment. */
const OPEN_WAIT_MS = 10_000;
/** Pauses between two tries for a lock: short at first, since most transactions take a millisecond. */
const PAUSES_MS = [1, 2, 5, 10, 25];
const CACHE_KIB = 65_536;
/** What a long change set leaves of its journal once it is written back. */
const JOURNAL_BYTES = 67_108_864;

export class Database {
  readonly #reader: Connection;
  readonly #writer: Connection;
  readonly #writers = new Mutex();

  private constructor(
    private readonly options: DatabaseOptions,
    connections: { readonly reader: Connection; readonly writer: Connection },
  ) {
    this.#reader = connections.reader;
    this.#writer = connections.writer;
  }

  /**
   * Opens the file, readable by its owner only, and brings its tables up to date.
   * @throws EspalierError `store_unavailable`
   */
  static open(options: DatabaseOptions): Database {
    try {
      // SQLite gives its side files the mode of the main one.
      if (options.path !== ":memory:") closeSync(openSync(options.path, "a", 0o600));
      const writer = connect(options);
      migrate(writer, options.migrations);
      const reader = options.path === ":memory:" ? writer : connect(options);
      for (const { database } of new Set([reader, writer])) database.exec("PRAGMA busy_timeout = 0");
      return new Database(options, { reader, writer });
    } catch (thrown) {
      throw unopened(thrown, options.path);
    }
  }

  /** One state of the file for all that `work` reads. */
  read<T>(work: (connection: Connection) => T): Promise<T> {
    return this.#patiently(() => {
      const connection = this.#reader;
      connection.run("BEGIN");
      try {
        return work(connection);
      } finally {
        connection.run("COMMIT");
      }
    });
  }

  /** All or nothing, and acknowledged only once it is safe. */
  async write<T>(work: Write<T>): Promise<T> {
    return this.#writers.runExclusive(async () => {
      const connection = this.#writer;
      await this.#patiently(() => {
        connection.run("BEGIN IMMEDIATE");
      });
      try {
        const result = await this.#advance(work(connection));
        connection.run("COMMIT");
        return result;
      } catch (thrown) {
        if (connection.database.isTransaction) connection.run("ROLLBACK");
        throw toStoreError(thrown);
      }
    });
  }

  async close(): Promise<void> {
    await this.#writers.runExclusive(() => {
      for (const { database } of new Set([this.#reader, this.#writer])) if (database.isOpen) database.close();
    });
  }

  async #advance<T>(steps: Generator<void, T, void>): Promise<T> {
    for (;;) {
      const step = steps.next();
      if (step.done === true) return step.value;
      if (this.#reader !== this.#writer) await setImmediate();
    }
  }

  /** Tries again while another process holds the lock, without holding up this one. */
  async #patiently<T>(work: () => T): Promise<T> {
    const deadline = this.options.clock.now() + this.options.lockWaitMs;
    for (let attempt = 0; ; attempt += 1) {
      try {
        return work();
      } catch (thrown) {
        if (!isBusy(thrown) || this.options.clock.now() >= deadline) throw toStoreError(thrown);
      }
      await setTimeout(PAUSES_MS[Math.min(attempt, PAUSES_MS.length - 1)]);
    }
  }
}

function connect({ path, synchronous }: DatabaseOptions): Connection {
  const database = new DatabaseSync(path, { allowExtension: true, timeout: OPEN_WAIT_MS });
  database.exec(`PRAGMA page_size = ${PAGE_BYTES}`);
  if (path !== ":memory:") database.exec("PRAGMA journal_mode = WAL");
  database.exec(`PRAGMA synchronous = ${synchronous}`);
  database.exec(`PRAGMA cache_size = -${CACHE_KIB}`);
  database.exec(`PRAGMA journal_size_limit = ${JOURNAL_BYTES}`);
  database.exec("PRAGMA temp_store = MEMORY");
  loadVectorFunctions(database);
  database.enableLoadExtension(false);
  registerFunctions(database);
  return new Connection(database);
}

function unopened(thrown: unknown, path: string): unknown {
  const error = toStoreError(thrown);
  if (error instanceof EspalierError || !(thrown instanceof Error)) return error;
  const code = (thrown as NodeJS.ErrnoException).code ?? "";
  if (!/^E[A-Z]+$/.test(code)) return error;
  return new EspalierError("store_unavailable", `The database ${path} cannot be opened: ${code}.`, { cause: thrown });
}
