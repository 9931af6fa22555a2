import { type Cells, Database, type Transaction } from "../neo4j/database.js";
import { migrate } from "../neo4j/migrate.js";

/** A database whose constraints and indexes are brought up to date before its first use; a try that failed is made again. */
export class MigratedDatabase extends Database {
  #migrated: Promise<void> | undefined;

  override async read<Result>(work: (transaction: Transaction) => Promise<Result>): Promise<Result> {
    await this.#prepare();
    return super.read(work);
  }

  override async query(statement: string, parameters: Readonly<Record<string, unknown>>): Promise<readonly Cells[]> {
    await this.#prepare();
    return super.query(statement, parameters);
  }

  override async write<Result>(work: (transaction: Transaction) => Promise<Result>): Promise<Result> {
    await this.#prepare();
    return super.write(work);
  }

  #prepare(): Promise<void> {
    this.#migrated ??= migrate({ read: (work) => super.read(work), write: (work) => super.write(work) }).catch(
      (error: unknown) => {
        this.#migrated = undefined;
        throw error;
      },
    );
    return this.#migrated;
  }
}
