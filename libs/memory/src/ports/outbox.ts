import type { MemoryScope } from "#core";
import type { StateRef } from "#scoring";
import type { Fingerprint } from "./vector-store.js";

/** Names a point of a vector store that lies apart from the trees: one field of one node state under one model. */
export interface PointRef extends StateRef {
  readonly field: string;
  readonly model: string;
}

/**
 * What a point lacks. `vector`: it was never stored, its text must be embedded. `payload`: its state has ended since; no
 * model is needed.
 */
export type OutboxTask = "vector" | "payload";

/** A point that is not, or not yet known to be, as the tree says. Rows of revisions that are not committed are not seen. */
export interface OutboxRow extends PointRef {
  readonly scope: MemoryScope;
  readonly task: OutboxTask;
  /** The text of the field; `""` for `payload`. */
  readonly text: string;
  /** Tokens of the text as the tree counted or estimated them. */
  readonly tokens: number;
  /** The job that waits for the row: the insert of a node's text. */
  readonly job?: string;
  /** Claims that ended in `fail`. */
  readonly failures: number;
}

/** A row as whoever claims it is told. */
export type ClaimedRow = Omit<OutboxRow, "text">;

/** Rows of one tenant that are free to be claimed. */
export interface TenantBacklog {
  readonly tenant: string;
  /** Counted up to the number that was asked for. */
  readonly rows: number;
}

/** What jobs still wait for. */
export interface Outstanding {
  readonly rows: number;
  /** Rows that were given up; the message of one of them. */
  readonly failed: number;
  readonly error?: { readonly code: string; readonly message: string };
}

/** How far a memory's points are from its tree. */
export interface PointExpectation {
  /** Of all (state, field) pairs with a text in tracked fields of that model that have no outbox row, as a VectorStore would count them. */
  readonly fingerprint: Fingerprint;
  /** Rows of the outbox of that memory and model. */
  readonly pending: number;
  /** Those of them that were given up. */
  readonly failed: number;
}

/**
 * The outbox: which points of the vector store are behind the trees. Rows are written by the transactions that change nodes
 * and removed by `VectorStore.upsert` when the point is stored. Present only where trees and vectors lie apart. All times
 * are taken from the store's own clock, so that workers whose clocks differ agree. Errors: `store_unavailable`.
 */
export interface Outbox {
  /**
   * At most `limit` tenants with free rows, the longest waiting first; if there are more, other calls tell the others. Rows of
   * each are counted up to `rowsPerTenant`, by default LIMITS.relayTenantRows, which is what a call costs.
   */
  backlog(limit: number, rowsPerTenant?: number): Promise<readonly TenantBacklog[]>;
  /**
   * Claims rows of a tenant, oldest first, and of those of one moment (a commit) the shortest texts first: at most `rows`, and no more
   * after `tokens` are reached. A row has one claim at a time; after `leaseMs` without an end it is free again. What the rows say is told by `claimed`. One statement.
   */
  claim(
    tenant: string,
    claim: { readonly id: string; readonly rows: number; readonly tokens: number; readonly leaseMs: number },
  ): Promise<readonly ClaimedRow[]>;
  /** The rows of a claim that are still to do and still its own; extends its lease. */
  claimed(id: string, leaseMs: number): Promise<readonly OutboxRow[]>;
  /** Frees rows of a claim: at once, or after `afterMs`. */
  release(id: string, afterMs: number): Promise<void>;
  /**
   * Notes that rows of a claim could not be done: free again after `afterMs`, or given up for good (`final`), which
   * `outstanding` and the drift tell until `retry`.
   */
  fail(
    id: string,
    rows: readonly PointRef[],
    failure: { readonly code: string; readonly message: string; readonly afterMs: number; readonly final: boolean },
  ): Promise<void>;
  /** Makes rows that were given up free again, of a memory or of all. Answers the count. */
  retry(scope?: MemoryScope): Promise<number>;
  /** Those of the jobs that still wait for a row, be it one that was given up. One statement that looks for a row of each. */
  unfinished(jobs: readonly { readonly tenant: string; readonly job: string }[]): Promise<ReadonlySet<string>>;
  /** What each of the jobs still waits for; a job without rows is absent. One statement; O(rows of the jobs). */
  outstanding(
    jobs: readonly { readonly tenant: string; readonly job: string }[],
  ): Promise<ReadonlyMap<string, Outstanding>>;
  /**
   * From now on every state with a text in the field has a row until its point is stored. Rows of the states that are there
   * are made in bounded transactions. Repeats safely; O(states with the field) the first time, one read later. A model that the
   * memory is neither on nor moving to answers `revision_conflict`.
   */
  track(scope: MemoryScope, model: string, field: string): Promise<void>;
  /** Models that the memory has left and under which points of it may still be there. */
  former(scope: MemoryScope): Promise<readonly string[]>;
  /** Fields that are tracked under a model; `""` always is under the memory's own. */
  tracked(scope: MemoryScope, model: string): Promise<readonly string[]>;
  /** Makes rows for points that were found to be missing or stale. A row that is there stays as it is. */
  enqueue(scope: MemoryScope, rows: readonly (PointRef & { readonly task: OutboxTask })[]): Promise<number>;
  /** What the vector store should hold of a memory. O(states), read in pages. */
  expectation(scope: MemoryScope, model: string): Promise<PointExpectation>;
  /** A page of the points that the vector store should hold, by id, born and field. Rows pending are left out. */
  expected(
    scope: MemoryScope,
    model: string,
    page: { readonly after?: string; readonly limit: number },
  ): Promise<{ readonly points: readonly StoredPoint[]; readonly next?: string }>;
  /** Memories of all tenants with the models they are tracked under, for the reconciler's rounds. */
  memories(page: { readonly after?: string; readonly limit: number }): Promise<{
    readonly memories: readonly { readonly scope: MemoryScope; readonly models: readonly string[] }[];
    readonly next?: string;
  }>;
  /**
   * Memories that were deleted and are not buried, of whose deletion nothing was heard for `idleMs`: it has ended, or died.
   * Those that wait longest first.
   */
  tombstones(limit: number, idleMs: number): Promise<readonly MemoryScope[]>;
  /** Forgets a deleted memory, with what is left of its rows. Its points have to be gone, and nobody left to write one. */
  bury(scope: MemoryScope): Promise<void>;
}

/** A point as the vector store holds it, without its vector. */
export interface StoredPoint extends StateRef {
  readonly field: string;
  /** Revision that ended the state; absent: it is live. */
  readonly died?: number;
}

/** What only relay and reconciler need of a vector store that lies apart. */
export interface PointInventory {
  /** A page of the points of a memory under a model, in an order of the store's own. */
  points(
    scope: MemoryScope,
    model: string,
    page: { readonly after?: string; readonly limit: number },
  ): Promise<{ readonly points: readonly StoredPoint[]; readonly next?: string }>;
  /** Removes points by name. */
  remove(scope: MemoryScope, model: string, points: readonly (StateRef & { readonly field: string })[]): Promise<void>;
  /** Brings the payload of points in line with the tree and settles their outbox rows. Points that are not there are left to a `vector` row. */
  refresh(scope: MemoryScope, model: string, points: readonly (StateRef & { readonly field: string })[]): Promise<void>;
  /**
   * Whether points of a memory that were stored and noted are not there, or say less than they did: the store was emptied, or
   * put back to what it was. Looks for the one of each field that was noted last; a store that lacks another one has drift,
   * which the comparison finds. One read of each side.
   */
  areLost(scope: MemoryScope): Promise<boolean>;
  /** Removes every point of a memory that is gone from the tree, from every collection. Answers the count. */
  purge(scope: MemoryScope): Promise<number>;
}
