import type { MemoryScope, NodeState } from "#core";
import type {
  ChangeSet,
  ChildPage,
  CommitResult,
  DeletionCounts,
  Memory,
  MemoryPatch,
  MemorySchema,
  NewMemory,
  TenantTotals,
  TreeStore,
} from "#memory";
import type { EvidenceRequest, EvidenceRow, RunRow, StatementTrace, StructuralRun } from "#query";
import { deleteMemory } from "./delete-memory.js";
import { commitChange, findInInbox } from "./commit.js";
import type { Connection } from "./connection.js";
import type { Database } from "./database.js";
import type { MemoryImages } from "./image/memory-images.js";
import { createMemory, findHead, listMemories, livenessAt, readMemory, sumMemories, updateMemory } from "./memories.js";
import { readPaths } from "./read-paths.js";
import { readSchema } from "./schema.js";
import { executeEvidence, executeRun } from "./structure.js";
import {
  readChildBy,
  readChildren,
  readLastChild,
  readNewestGrandchild,
  readNodes,
  readPage,
  type ReadScope,
  readSubtrees,
} from "./tree-reads.js";

/** Trees in SQLite: every axis is an index range over path keys. Every method is one transaction. */
export class SqliteTreeStore implements TreeStore {
  constructor(
    private readonly database: Database,
    private readonly images: MemoryImages,
  ) {}

  createMemory(tenant: string, memory: NewMemory): Promise<Memory> {
    return this.#write((connection) => createMemory(connection, tenant, memory));
  }

  getMemory(scope: MemoryScope): Promise<Memory> {
    return this.database.read((connection) => readMemory(connection, scope));
  }

  totals(tenant: string): Promise<TenantTotals> {
    return this.database.read((connection) => sumMemories(connection, tenant));
  }

  listMemories(tenant: string, query: Parameters<TreeStore["listMemories"]>[1]): Promise<readonly Memory[]> {
    return this.database.read((connection) => listMemories(connection, tenant, query));
  }

  updateMemory(scope: MemoryScope, patch: MemoryPatch, time: number): Promise<Memory> {
    return this.#write((connection) => updateMemory(connection, scope, patch, time));
  }

  deleteMemory(scope: MemoryScope): Promise<DeletionCounts> {
    const { images } = this;
    return this.database.write(function* (connection) {
      const { row } = findHead(connection, scope);
      const counts = yield* deleteMemory(connection, scope);
      images.drop(row);
      return counts;
    });
  }

  schema(scope: MemoryScope): Promise<MemorySchema> {
    return this.database.read((connection) => {
      const { schemaVersion } = readMemory(connection, scope);
      return readSchema(connection, findHead(connection, scope).row, schemaVersion);
    });
  }

  commit(scope: MemoryScope, change: ChangeSet): Promise<CommitResult> {
    return this.database.write((connection) => commitChange(connection, scope, change));
  }

  inbox(scope: MemoryScope, job: string, step: string): Promise<CommitResult | undefined> {
    return this.database.read((connection) => findInInbox(connection, findHead(connection, scope).row, job, step));
  }

  run(
    scope: MemoryScope,
    revision: number,
    run: StructuralRun,
  ): Promise<{ readonly rows: readonly RunRow[]; readonly trace: StatementTrace }> {
    return this.#at(scope, revision, ({ connection, memory, liveness }) =>
      executeRun(connection, memory, liveness, run),
    );
  }

  evidence(
    scope: MemoryScope,
    revision: number,
    request: EvidenceRequest,
  ): Promise<{ readonly rows: readonly EvidenceRow[]; readonly trace: StatementTrace }> {
    return this.#at(scope, revision, ({ connection, memory, liveness }) =>
      executeEvidence(connection, memory.row, liveness, request),
    );
  }

  nodes(scope: MemoryScope, revision: number, ids: readonly string[]): Promise<readonly NodeState[]> {
    return this.#at(scope, revision, (read) => readNodes(read, ids));
  }

  paths(scope: MemoryScope, revision: number, ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
    return this.#at(scope, revision, (read) => readPaths(read, ids));
  }

  subtrees(
    scope: MemoryScope,
    revision: number,
    ids: readonly string[],
    limit: number,
  ): ReturnType<TreeStore["subtrees"]> {
    return this.#at(scope, revision, (read) => readSubtrees(read, ids, limit));
  }

  children(
    scope: MemoryScope,
    revision: number,
    parentId: string | null,
    page: { readonly limit: number; readonly after?: string },
  ): Promise<ChildPage> {
    return this.#at(scope, revision, (read) => readChildren(read, parentId, page));
  }

  lastChild(scope: MemoryScope, parentId: string | null): ReturnType<TreeStore["lastChild"]> {
    return this.#at(scope, undefined, (read) => readLastChild(read, parentId));
  }

  findChild(
    scope: MemoryScope,
    parentId: string | null,
    child: { readonly type: string; readonly name: string; readonly value: string },
  ): Promise<NodeState | undefined> {
    return this.#at(scope, undefined, (read) => readChildBy(read, parentId, child));
  }

  newestGrandchild(scope: MemoryScope, id: string, type: string): Promise<NodeState | undefined> {
    return this.#at(scope, undefined, (read) => readNewestGrandchild(read, id, type));
  }

  scan(scope: MemoryScope, page: { readonly after?: string; readonly limit: number }): Promise<readonly NodeState[]> {
    return this.#at(scope, undefined, (read) => readPage(read, page));
  }

  /** Reads at a revision, or at the head. */
  #at<T>(scope: MemoryScope, revision: number | undefined, work: (read: ReadScope) => T): Promise<T> {
    return this.database.read((connection) => {
      const memory = findHead(connection, scope);
      return work({ connection, memory, liveness: livenessAt(memory, revision ?? memory.revision) });
    });
  }

  #write<T>(work: (connection: Connection) => T): Promise<T> {
    // eslint-disable-next-line require-yield -- a short write is one turn
    return this.database.write(function* (connection) {
      return work(connection);
    });
  }
}
