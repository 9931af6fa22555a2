import type { PlannedNode } from "../writing/planned-node.js";

/** What a grower adds to a memory at one revision. */
export interface Plan {
  /** Parents precede children; at most LIMITS.insertNodes messages or tree nodes. */
  readonly nodes: readonly PlannedNode[];
  /** Ids of the nodes whose parents were there before, in order. */
  readonly roots: readonly string[];
}
