import { EspalierError, type MemoryScope, type NodeState } from "#core";
import type { ApiKey, CommitResult, Memory, VectorPoint } from "#memory";

/** A state with the revision in which it ended. */
export interface StoredState extends NodeState {
  readonly died: number;
}

/** A memory with all its rows, in plain arrays. */
export interface StoredMemory {
  memory: Memory;
  states: readonly StoredState[];
  revisions: number;
  readonly inbox: Map<string, CommitResult & { readonly time: number }>;
  points: readonly VectorPoint[];
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

/** Everything that the in-memory stores of one process hold. */
export class Tables {
  readonly memories = new Map<string, StoredMemory>();
  blobs: readonly StoredBlob[] = [];
  keys: readonly (ApiKey & { readonly hash: string })[] = [];
  closed = false;

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
