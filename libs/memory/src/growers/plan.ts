import type { TreeStore } from "../ports/tree-store.js";
import type { PlannedNode } from "../writing/planned-node.js";

/** What a grower adds to a memory at one revision. */
export interface Plan {
  /** Parents precede children. */
  readonly nodes: readonly PlannedNode[];
  /** Ids of the nodes whose parents were there before, in document order. */
  readonly roots: readonly string[];
}

/** What planning reads. */
export type PlanningReads = Pick<TreeStore, "nodes" | "lastChild" | "findChild" | "newestGrandchild">;
