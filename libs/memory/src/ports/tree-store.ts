import type { MemoryScope, NodeState } from "#core";
import type { EvidenceRequest, EvidenceRow, RunRow, StatementTrace, StructuralRun } from "#query";
import type { Memory, MemorySchema, ScoringSettings, Structure } from "../memory.js";
import type { FieldTerms, VectorPoint } from "./vector-store.js";

/** What a new memory is made of. */
export type NewMemory = Pick<
  Memory,
  "id" | "name" | "labels" | "structure" | "templates" | "scoring" | "embeddingModel" | "createdAt"
>;

/** Changes of a memory's settings; absent means unchanged, `nextEmbeddingModel: null` ends a move. */
export interface MemoryPatch {
  readonly name?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly structure?: Structure;
  readonly templates?: Readonly<Record<string, string>>;
  readonly scoring?: ScoringSettings;
  readonly embeddingModel?: string;
  readonly nextEmbeddingModel?: string | null;
}

/** A new node state of a change set; `born` is the revision that the commit makes. */
export type NewState = Omit<NodeState, "born">;

/**
 * One committed step of a memory. An insert only adds states; a change of a node ends its live state and adds another with
 * the same id; a removal ends states.
 */
export interface ChangeSet {
  /** The revision it was computed against; another head answers `revision_conflict` and changes nothing. */
  readonly baseRevision: number;
  /** Guards against repeats: a second commit with the same (tenant, job, step) changes nothing and answers the first result. */
  readonly inbox: { readonly job: string; readonly step: string };
  readonly message: string;
  readonly author: string;
  readonly time: number;
  /** At most LIMITS.insertNodes; parents precede children. */
  readonly states: readonly NewState[];
  /** Ids whose live state ends. */
  readonly ends: readonly string[];
  /** Vectors of the new states, where tree and vectors share a transaction (their `born` is filled in by the commit). */
  readonly vectors: readonly Omit<VectorPoint, "born">[];
  /** Term weights of the new states' fields, one entry per (state, field) with a text. */
  readonly terms: readonly Omit<FieldTerms, "born">[];
  /**
   * The fields that `terms` were made for. If the index has come to have another one (a query indexed it meanwhile), the
   * commit answers `revision_conflict`, so that no state is ever left out of a field's index. Absent: not checked.
   */
  readonly termFields?: readonly string[];
  /** Kept with the inbox row and answered on a repeat. JSON. */
  readonly result: unknown;
}

export interface CommitResult {
  readonly revision: number;
  /** True if the inbox knew the step already; nothing was changed. */
  readonly repeated: boolean;
  /** The `result` of the commit that took effect. */
  readonly result: unknown;
}

/** Rows removed with a memory, per kind of row. A test scans the store for leftovers. */
export interface DeletionCounts {
  readonly nodes: number;
  readonly vectors: number;
  readonly terms: number;
  readonly revisions: number;
  readonly inbox: number;
  readonly blobs: number;
}

/** What a tenant has stored: sums over the counters of its memories, which every commit keeps. */
export interface TenantTotals {
  readonly memories: number;
  /** Live nodes. */
  readonly nodes: number;
  /** UTF-8 bytes of what they say. */
  readonly bytes: number;
}

/** A child as the tree route and the inserts see it. */
export interface ChildPage {
  readonly nodes: readonly (NodeState & { readonly children: number })[];
  /** Path key to continue after; absent on the last page. */
  readonly next?: string;
}

/**
 * Trees of all tenants. Another tenant's memory does not exist: every method with a scope that names one throws
 * `memory_not_found`, exactly as for an unknown id. Reads take the revision to read (pinned once per query).
 * Errors: `memory_not_found`, `revision_conflict`, `store_unavailable`.
 */
export interface TreeStore {
  createMemory(tenant: string, memory: NewMemory): Promise<Memory>;
  getMemory(scope: MemoryScope): Promise<Memory>;
  /** Newest first; `after` is the id of the last item of the page before. All labels must match. */
  listMemories(
    tenant: string,
    query: {
      readonly labels?: Readonly<Record<string, string>>;
      readonly name?: string;
      readonly limit: number;
      readonly after?: string;
    },
  ): Promise<readonly Memory[]>;
  /** O(memories of the tenant), over their counters alone. */
  totals(tenant: string): Promise<TenantTotals>;
  updateMemory(scope: MemoryScope, patch: MemoryPatch, time: number): Promise<Memory>;
  /** Every row of the memory in every table of this store, in one transaction. */
  deleteMemory(scope: MemoryScope): Promise<DeletionCounts>;
  schema(scope: MemoryScope): Promise<MemorySchema>;

  /** All or nothing; serialised per memory by `baseRevision`. O(changes). */
  commit(scope: MemoryScope, change: ChangeSet): Promise<CommitResult>;
  /** The answer of a step committed before, if any. */
  inbox(scope: MemoryScope, job: string, step: string): Promise<CommitResult | undefined>;

  /** One statement. Rows in document order. */
  run(
    scope: MemoryScope,
    revision: number,
    run: StructuralRun,
  ): Promise<{ readonly rows: readonly RunRow[]; readonly trace: StatementTrace }>;
  /** One statement for all contexts and paths. */
  evidence(
    scope: MemoryScope,
    revision: number,
    request: EvidenceRequest,
  ): Promise<{ readonly rows: readonly EvidenceRow[]; readonly trace: StatementTrace }>;

  /** States by id, in the ids' order; unknown ones are left out. One statement. */
  nodes(scope: MemoryScope, revision: number, ids: readonly string[]): Promise<readonly NodeState[]>;
  /** XPath-like paths (`/Itinerary[1]/Day[2]`, counting siblings of the same type) by id. A bounded number of statements. */
  paths(scope: MemoryScope, revision: number, ids: readonly string[]): Promise<ReadonlyMap<string, string>>;
  /** The nodes below (and with) each id, in document order, at most `limit` in all; `truncated` names the ids that were cut. */
  subtrees(
    scope: MemoryScope,
    revision: number,
    ids: readonly string[],
    limit: number,
  ): Promise<{ readonly nodes: ReadonlyMap<string, readonly NodeState[]>; readonly truncated: readonly string[] }>;
  /** A page of the children of a node (`null`: the root) in document order. */
  children(
    scope: MemoryScope,
    revision: number,
    parentId: string | null,
    page: { readonly limit: number; readonly after?: string },
  ): Promise<ChildPage>;
  /** The last child of a node at the head, with the number of children: what an append needs. */
  lastChild(
    scope: MemoryScope,
    parentId: string | null,
  ): Promise<{ readonly count: number; readonly last?: NodeState }>;
  /** The last live child of that type whose attribute `name` is `value`. */
  findChild(
    scope: MemoryScope,
    parentId: string | null,
    child: { readonly type: string; readonly name: string; readonly value: string },
  ): Promise<NodeState | undefined>;
  /**
   * The live grandchild of that type that was stored last: of the newest revision, and there the last of its change set.
   * O(grandchildren), over an index alone.
   */
  newestGrandchild(scope: MemoryScope, id: string, type: string): Promise<NodeState | undefined>;
  /** Live head states after a path key, in document order: for maintenance that walks a whole memory in bounded pages. */
  scan(scope: MemoryScope, page: { readonly after?: string; readonly limit: number }): Promise<readonly NodeState[]>;
}
