import type { MemoryScope } from "#core";
import type { ChangeSet, CommitResult, DeletionCounts } from "#memory";
import type { Database } from "../neo4j/database.js";
import { Neo4jTreeStore } from "../neo4j/tree-store.js";
import type { QdrantStores } from "../qdrant/open-qdrant.js";

/** The trees, where two things reach the points as well: vectors that a change set brings, and the end of a memory. */
export class DistributedTreeStore extends Neo4jTreeStore {
  readonly #qdrant: QdrantStores;

  constructor(database: Database, qdrant: QdrantStores) {
    super(database);
    this.#qdrant = qdrant;
  }

  /** Vectors are checked before and stored after the commit; should this process die in between, their outbox rows are done by others. */
  override async commit(scope: MemoryScope, change: ChangeSet): Promise<CommitResult> {
    await this.#qdrant.vectors.check(change.vectors);
    const result = await super.commit(scope, change);
    const points = change.vectors.map((vector) => ({ ...vector, born: result.revision }));
    if (points.length > 0 && !result.repeated) await this.#qdrant.vectors.upsert(scope, points);
    return result;
  }

  /**
   * Nothing is removed while the vectors cannot be. A tombstone stays, by which the comparison of the stores finishes a
   * deletion that is cut short, and removes what late writers leave.
   */
  override async deleteMemory(scope: MemoryScope): Promise<DeletionCounts> {
    await this.getMemory(scope);
    await this.#qdrant.ping();
    const counts = await super.deleteMemory(scope);
    return { ...counts, vectors: await this.#qdrant.points.purge(scope) };
  }
}
