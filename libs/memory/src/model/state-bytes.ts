import type { NodeState } from "#core";

/** UTF-8 bytes of what a node says: its type, attributes and metadata as JSON. Its text follows from them, by a template. O(length). */
export function stateBytes({
  type,
  attributes,
  metadata,
}: Pick<NodeState, "type" | "attributes" | "metadata">): number {
  return [type, JSON.stringify(attributes), JSON.stringify(metadata)].reduce(
    (sum, text) => sum + Buffer.byteLength(text),
    0,
  );
}
