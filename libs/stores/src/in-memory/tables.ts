import { type Clock, EspalierError, type MemoryScope, type NodeState } from "#core";
import type { ApiKey, CommitResult, Memory, OutboxRow, StoredPoint, Tenant, VectorPoint } from "#memory";

/** A state with the revision in which it ended. */
export interface StoredState extends NodeState {
  readonly died: number;
}

/** A field whose points are kept up to date under a model, and the one that was settled last. */
export interface TrackedField {
  readonly model: string;
  readonly field: string;
  readonly witness?: StoredPoint;
}

/** A memory with all its rows, in plain arrays. */
export interface StoredMemory {
  memory: Memory;
  states: readonly StoredState[];
  revisions: number;
  readonly inbox: Map<string, CommitResult & { readonly time: number }>;
  /** Fields whose points are kept up to date, where trees and vectors lie apart. */
  tracked: readonly TrackedField[];
  /** Term weights by field, then by state. A field is indexed if it is here. */
  readonly terms: Map<string, Map<string, ReadonlyMap<string, number>>>;
}

export interface StoredBlob {
  readonly tenant: string;
  readonly key: string;
  readonly bytes: Uint8Array;
  readonly memory: string | undefined;
  readonly expiresAt: number;
}

/** A vector; where it lies apart from the tree, with the end of its state as it was last told. */
export type StoredVector = VectorPoint & Pick<StoredPoint, "died">;

/** A row of the outbox; texts are read from the tree. */
export interface StoredRow extends Omit<OutboxRow, "text"> {
  /** When it is free to be claimed: the end of a lease or of a pause. */
  readonly due: number;
  readonly claim: string | undefined;
  /** Why it was given up. */
  readonly failure: { readonly code: string; readonly message: string } | undefined;
}

/** What there is only where trees and vectors lie apart. */
export class OutboxTables {
  /** Oldest first. */
  rows: readonly StoredRow[] = [];
  readonly tombstones = new Map<string, { readonly scope: MemoryScope; readonly time: number }>();

  constructor(readonly clock: Clock) {}
}

/** Everything that the in-memory stores of one process hold. */
export class Tables {
  readonly memories = new Map<string, StoredMemory>();
  /** By memory: where vectors lie apart, they outlive it. */
  readonly points = new Map<string, readonly StoredVector[]>();
  blobs: readonly StoredBlob[] = [];
  keys: readonly (ApiKey & { readonly hash: string })[] = [];
  readonly tenants = new Map<string, Tenant>();
  closed = false;

  constructor(readonly outbox?: OutboxTables) {}

  pointsOf(scope: MemoryScope): readonly StoredVector[] {
    return this.points.get(keyOfScope(scope)) ?? [];
  }

  setPoints(scope: MemoryScope, points: readonly StoredVector[]): void {
    if (points.length === 0) this.points.delete(keyOfScope(scope));
    else this.points.set(keyOfScope(scope), points);
  }

  /** @throws EspalierError `memory_not_found`, `store_unavailable` */
  find(scope: MemoryScope): StoredMemory {
    this.checkOpen();
    const stored = this.memories.get(keyOfScope(scope));
    if (stored === undefined) {
      throw new EspalierError("memory_not_found", `No memory ${scope.memory}.`, { details: { memory: scope.memory } });
    }
    return stored;
  }

  /** @throws EspalierError `store_unavailable` */
  checkOpen(): void {
    if (this.closed) throw new EspalierError("store_unavailable", "The stores are closed.");
  }
}

export const keyOfScope = ({ tenant, memory }: MemoryScope): string => JSON.stringify([tenant, memory]);

/** The name of a state. */
export const stateKey = ({ id, born }: { readonly id: string; readonly born: number }): string =>
  JSON.stringify([id, born]);

/** States that are live at a revision, in document order. */
export function liveStates({ states }: StoredMemory, revision: number): readonly StoredState[] {
  return states
    .filter(({ born, died }) => born <= revision && revision < died)
    .sort((left, right) => (left.pathKey < right.pathKey ? -1 : 1));
}
