import type { NodeState } from "#core";

/** A node state that a grower has placed in the tree; its text, tokens, vector and terms are made from it. */
export type PlannedNode = Omit<NodeState, "born" | "text" | "tokens">;
