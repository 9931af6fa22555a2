import { randomUUID } from "node:crypto";
import { type MemoryScope, NODE_FIELD, type NodeState } from "#core";
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
import { commitChange, findInInbox } from "./commit.js";
import type { Database } from "./database.js";
import { clearGround, deleteMemory } from "./delete-memory.js";
import { createMemory, listMemories, readMemory, sumMemories, updateMemory } from "./memories.js";
import { track } from "./outbox-tracking.js";
import { readPaths } from "./read-paths.js";
import { readSchema } from "./schema.js";
import { memoryKey, memoryNotFound } from "./memory-key.js";
import { executeEvidence, executeRun, type StructureFound, type StructureRead } from "./structure.js";
import {
  readChildBy,
  readChildren,
  readLastChild,
  readNewestGrandchild,
  readNodes,
  readPage,
  headScope,
  type ReadScope,
  readScope,
  readSubtrees,
} from "./tree-reads.js";

/**
 * Trees in Neo4j: every axis is an index range over path keys. Vectors and term weights of a change set are not kept here;
 * its outbox rows say which points have to be made.
 */
export class Neo4jTreeStore implements TreeStore {
  readonly #batchStates: number | undefined;

  /** @param options `batchStates`: states that one transaction of a change set begins or ends; tests make large sets of few. */
  constructor(
    private readonly database: Database,
    options: { readonly batchStates?: number } = {},
  ) {
    this.#batchStates = options.batchStates;
  }

  async createMemory(tenant: string, memory: NewMemory): Promise<Memory> {
    await clearGround(this.database, { tenant, memory: memory.id });
    const creation = { memory, maker: randomUUID() };
    return this.database.write((transaction) => createMemory(transaction, tenant, creation));
  }

  getMemory(scope: MemoryScope): Promise<Memory> {
    return this.database.read((transaction) => readMemory(transaction, scope));
  }

  totals(tenant: string): Promise<TenantTotals> {
    return this.database.read((transaction) => sumMemories(transaction, tenant));
  }

  listMemories(tenant: string, query: Parameters<TreeStore["listMemories"]>[1]): Promise<readonly Memory[]> {
    return this.database.read((transaction) => listMemories(transaction, tenant, query));
  }

  /** A memory that takes another model has every text tracked under it before this returns. */
  async updateMemory(scope: MemoryScope, patch: MemoryPatch, time: number): Promise<Memory> {
    const { embeddingModel: model } = patch;
    const memory = await this.database.write((transaction) => updateMemory(transaction, scope, patch, time));
    if (model !== undefined) await track(this.database, scope, { model, field: NODE_FIELD });
    return memory;
  }

  /** Counts of this store: `vectors` is 0. The tombstone stays until `Outbox.bury`. */
  deleteMemory(scope: MemoryScope): Promise<DeletionCounts> {
    return deleteMemory(this.database, scope);
  }

  schema(scope: MemoryScope): Promise<MemorySchema> {
    return this.database.read((transaction) => readSchema(transaction, scope));
  }

  commit(scope: MemoryScope, change: ChangeSet): Promise<CommitResult> {
    return commitChange(this.database, scope, change, this.#batchStates);
  }

  inbox(scope: MemoryScope, job: string, step: string): Promise<CommitResult | undefined> {
    return this.database.read((transaction) => findInInbox(transaction, scope, { job, step }));
  }

  run(
    scope: MemoryScope,
    revision: number,
    run: StructuralRun,
  ): Promise<{ readonly rows: readonly RunRow[]; readonly trace: StatementTrace }> {
    const { contexts } = run;
    if (contexts !== "root" && contexts.length === 0) return this.#nothing(scope);
    return this.#structure(scope, revision, (read) => executeRun(this.database, read, run));
  }

  evidence(
    scope: MemoryScope,
    revision: number,
    request: EvidenceRequest,
  ): Promise<{ readonly rows: readonly EvidenceRow[]; readonly trace: StatementTrace }> {
    if (request.contexts.length === 0 || request.paths.length === 0) return this.#nothing(scope);
    return this.#structure(scope, revision, (read) => executeEvidence(this.database, read, request));
  }

  nodes(scope: MemoryScope, revision: number, ids: readonly string[]): Promise<readonly NodeState[]> {
    return this.#hopingForHead(scope, revision, (read) => readNodes(read, ids));
  }

  paths(scope: MemoryScope, revision: number, ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
    return this.#hopingForHead(scope, revision, (read) => readPaths(read, ids));
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

  /**
   * Reads by one statement, which says too whether the head's indexes serve the revision, as they nearly always do: only where
   * they turn out not to is the read made again, by the indexes over all states.
   */
  async #structure<Row>(
    scope: MemoryScope,
    revision: number,
    read: (of: StructureRead) => Promise<StructureFound<Row>>,
  ): Promise<Pick<StructureFound<Row>, "rows" | "trace">> {
    const memory = memoryKey(scope);
    const found = async (head: boolean): Promise<StructureFound<Row> & { readonly purged: number }> => {
      const { purged, ...result } = await read({ memory, liveness: { head, revision } });
      if (purged === undefined) throw memoryNotFound(scope);
      return { purged, ...result };
    };
    const { purged, ...result } = await found(true);
    if (revision >= purged) return result;
    const { rows, trace } = await found(false);
    return { rows, trace };
  }

  /** The rows below no contexts. @throws EspalierError `memory_not_found` */
  async #nothing(scope: MemoryScope): Promise<{ readonly rows: readonly []; readonly trace: StatementTrace }> {
    const started = performance.now();
    await this.#at(scope, undefined, async () => undefined);
    return {
      rows: [],
      trace: { statement: "none: no contexts", rows: 0, milliseconds: performance.now() - started },
    };
  }

  /**
   * Reads at a revision that nearly always is served by the head's indexes: the memory is looked up beside the read, in
   * one round trip, and only where it turns out otherwise is the read made again: in a transaction of its own, as a hoped
   * read that failed has ended this one.
   */
  async #hopingForHead<Result>(
    scope: MemoryScope,
    revision: number,
    read: (at: ReadScope) => Promise<Result>,
  ): Promise<Result> {
    const first = await this.database.read(async (transaction) => {
      const [found, hoped] = await Promise.allSettled([
        readScope(transaction, scope, revision),
        read(headScope(transaction, scope, revision)),
      ]);
      if (found.status === "rejected") throw found.reason;
      if (!found.value.liveness.head) return undefined;
      if (hoped.status === "rejected") throw hoped.reason;
      return { result: hoped.value };
    });
    return first === undefined ? this.#at(scope, revision, read) : first.result;
  }

  /** Reads at a revision, or at the head. */
  #at<Result>(
    scope: MemoryScope,
    revision: number | undefined,
    read: (at: ReadScope) => Promise<Result>,
  ): Promise<Result> {
    return this.database.read(async (transaction) => read(await readScope(transaction, scope, revision)));
  }
}
