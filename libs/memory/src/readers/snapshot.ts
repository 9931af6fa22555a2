import type { MemoryScope } from "#core";
import type { Memory } from "../memory.js";

/** What a query reads, pinned once: the memory's settings and a revision. */
export interface Snapshot {
  readonly scope: MemoryScope;
  readonly memory: Memory;
  /** At most the memory's head. */
  readonly revision: number;
}
