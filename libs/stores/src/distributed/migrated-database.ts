import { EspalierError, inTime } from "#core";
import { type Cells, Database, type DatabaseOptions, type Transaction } from "../neo4j/database.js";
import { migrate } from "../neo4j/migrate.js";
import { CALL_MS } from "../neo4j/settings.js";

/**
 * A database whose constraints and indexes are brought up to date before its first use; a try that failed is made again. A
 * call waits for that as long as for its own answer: filling indexes can take longer, and goes on for those that come later.
 */
export class MigratedDatabase extends Database {
  readonly #callMs: number;
  #migrated: Promise<void> | undefined;

  constructor(
    options: DatabaseOptions,
    private readonly migration: typeof migrate = migrate,
  ) {
    super(options);
    this.#callMs = options.callMs ?? CALL_MS;
  }

  override async read<Result>(work: (transaction: Transaction) => Promise<Result>): Promise<Result> {
    await this.#prepared();
    return super.read(work);
  }

  override async query(statement: string, parameters: Readonly<Record<string, unknown>>): Promise<readonly Cells[]> {
    await this.#prepared();
    return super.query(statement, parameters);
  }

  override async write<Result>(work: (transaction: Transaction) => Promise<Result>): Promise<Result> {
    await this.#prepared();
    return super.write(work);
  }

  /** Not with the call itself: what was given up here would be done all the same, much later. */
  #prepared(): Promise<void> {
    const late = (): EspalierError =>
      new EspalierError(
        "store_unavailable",
        `Neo4j cannot be used: its schema is not up to date after ${this.#callMs} ms.`,
      );
    return inTime(this.#prepare(), this.#callMs, late);
  }

  #prepare(): Promise<void> {
    this.#migrated ??= this.migration({ read: (work) => super.read(work), write: (work) => super.write(work) }).catch(
      (error: unknown) => {
        this.#migrated = undefined;
        throw error;
      },
    );
    return this.#migrated;
  }
}
