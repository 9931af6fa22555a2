import { EspalierError, inTime } from "#core";
import neo4j, { type Driver, type ManagedTransaction, type Record as DriverRecord, type Session } from "neo4j-driver";
import { toStoreError } from "./neo4j-errors.js";
import { CALL_MS, DRIVER_SETTINGS, READ_MS, WRITE_MS } from "./settings.js";

/** Where the server is and who we are there. */
export interface DatabaseOptions {
  /** `bolt://`, `neo4j://` or with `+s` for TLS. */
  readonly url: string;
  /** Absent: the server asks for none. */
  readonly user?: string;
  readonly password?: string;
  /** Absent: the user's home database. */
  readonly database?: string;
  /** Milliseconds of a call with its retries. Default `CALL_MS`. */
  readonly callMs?: number;
}

/** What a unit of work sees: statements, which the server runs in the order in which they are sent. */
export interface Transaction {
  /** Runs one statement; rows by column name, of scalars. Whole numbers come and go as JavaScript's; `toInteger` makes them integers. */
  run<Row>(statement: string, parameters?: Readonly<Record<string, unknown>>): Promise<readonly Row[]>;
}

/** A row as the driver has it: by the places of its columns, for which nothing is made, or by their names. */
export interface Cells {
  get(place: number): unknown;
  toObject(): object;
}

/**
 * The one place that touches the driver. A unit of work is a managed transaction: the driver runs it again after a deadlock,
 * a lost connection or another transient error, **also when only the answer of a commit was lost**; so whatever it does must
 * be right when done twice. Errors: `store_unavailable`; what the work itself throws ends the transaction and comes out as it is.
 */
export class Database {
  readonly #driver: Driver;
  readonly #database: { readonly database?: string };
  readonly #callMs: number;
  #closed = false;

  /** Connects when first used. @throws EspalierError `store_unavailable` for a URL that is none */
  constructor({ url, user, password, database, callMs = CALL_MS }: DatabaseOptions) {
    const auth = user === undefined ? undefined : neo4j.auth.basic(user, password ?? "");
    try {
      // eslint-disable-next-line @typescript-eslint/no-unsafe-class-instance-assignment -- options of the driver are plain objects
      this.#driver = neo4j.driver(url, auth, { ...DRIVER_SETTINGS, disableLosslessIntegers: true });
    } catch (error) {
      const message = "Neo4j cannot be used: NEO4J_URI must be like bolt://host:7687 or neo4j+s://host.";
      throw new EspalierError("store_unavailable", message, { cause: error });
    }
    this.#database = { ...(database !== undefined && { database }) };
    this.#callMs = callMs;
  }

  /**
   * A unit of work that writes nothing. Of a cluster it, too, asks the leader: what was acknowledged may not have reached the
   * others, and what is compared with Qdrant must be of one state.
   */
  read<Result>(work: (transaction: Transaction) => Promise<Result>): Promise<Result> {
    return this.#inSession((session) => session.executeWrite((managed) => work(over(managed)), { timeout: READ_MS }));
  }

  /** As `read`, of one statement: sent with its beginning, it waits for an answer less. */
  query(statement: string, parameters: Readonly<Record<string, unknown>>): Promise<readonly Cells[]> {
    return this.#call(async () => {
      // eslint-disable-next-line @typescript-eslint/no-unsafe-class-instance-assignment -- options of the driver are plain objects
      const { records } = await this.#driver.executeQuery(statement, parameters, {
        ...{ routing: "WRITE", ...this.#database, transactionConfig: { timeout: READ_MS } },
        // As sessions of their own: one statement does not wait for what another one saw.
        bookmarkManager: null,
      });
      return records;
    });
  }

  /** A unit of work, all or nothing. */
  write<Result>(work: (transaction: Transaction) => Promise<Result>): Promise<Result> {
    return this.#inSession((session) => session.executeWrite((managed) => work(over(managed)), { timeout: WRITE_MS }));
  }

  /** Answers when the server does. */
  async ping(): Promise<void> {
    await this.read((transaction) => transaction.run("RETURN 1 AS one"));
  }

  /** Ends all connections. Later calls answer `store_unavailable`. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#driver.close();
  }

  #inSession<Result>(work: (session: Session) => Promise<Result>): Promise<Result> {
    return this.#call(async () => {
      // eslint-disable-next-line @typescript-eslint/no-unsafe-class-instance-assignment -- options of the driver are plain objects
      const session = this.#driver.session(this.#database);
      try {
        return await work(session);
      } finally {
        // Not waited for: a server that hangs would hold the caller here.
        session.close().catch(() => undefined);
      }
    });
  }

  async #call<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.#closed) throw new EspalierError("store_unavailable", "The stores are closed.");
    try {
      // The server bounds its transactions, but a server that says nothing bounds nothing.
      return await inTime(
        work(),
        this.#callMs,
        () => new EspalierError("store_unavailable", `Neo4j cannot be used: no answer within ${this.#callMs} ms.`),
      );
    } catch (error) {
      throw toStoreError(error);
    }
  }
}

function over(managed: ManagedTransaction): Transaction {
  return {
    run: async <Row>(statement: string, parameters?: Readonly<Record<string, unknown>>) => {
      const { records } = await managed.run(statement, parameters);
      return rowsOf(records) as readonly Row[];
    },
  };
}

/** As `toObject` of each record, which takes as long as all the rest of a read of many rows. */
function rowsOf(records: readonly DriverRecord[]): readonly Readonly<Record<string, unknown>>[] {
  const columns = (records[0]?.keys ?? []).map(String);
  return records.map((record) => {
    const row: Record<string, unknown> = {};
    for (let at = 0; at < columns.length; at += 1) row[columns[at] ?? ""] = record.get(at);
    return row;
  });
}
