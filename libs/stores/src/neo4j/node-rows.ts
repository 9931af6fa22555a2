import { int } from "neo4j-driver";
import type { Attributes, NodeState } from "#core";
import type { NewState } from "#memory";
import { nodeProperties } from "./node-properties.js";

/** `died` of a state that lives: larger than any revision, exact as a double. */
export const NEVER = Number.MAX_SAFE_INTEGER;

/** The columns of a state `n`: scalars, for a whole node costs four times as much on its way. */
export const NODE_COLUMNS = `n.id AS id, n.born AS born, n.type AS type, n.parent AS parent, n.pathKey AS pathKey,
  n.depth AS depth, n.attributes AS attributes, n.metadata AS metadata, n.text AS text, n.tokens AS tokens`;

/** A row of `NODE_COLUMNS`. */
export interface NodeRow extends Omit<NodeState, "parentId" | "attributes" | "metadata"> {
  /** `""` for a child of the root. */
  readonly parent: string;
  /** JSON, which keeps the order of names. */
  readonly attributes: string;
  readonly metadata: string;
}

export function nodeOf({
  id,
  born,
  type,
  parent,
  pathKey,
  depth,
  attributes,
  metadata,
  text,
  tokens,
}: NodeRow): NodeState {
  return {
    ...{ id, born, type, parentId: parent === "" ? null : parent, pathKey, depth },
    ...{ attributes: JSON.parse(attributes) as Attributes, metadata: JSON.parse(metadata) as Attributes, text, tokens },
  };
}

/** All properties of the node of a new state. */
export function propertiesOf(
  memory: string,
  state: NewState,
  own: { readonly revision: number; readonly ordinal: number; readonly children: number },
): Readonly<Record<string, unknown>> {
  const { id, type, parentId, pathKey, depth, attributes, metadata, text, tokens } = state;
  return {
    ...nodeProperties(state),
    ...{ memory, live: memory, id, born: int(own.revision), died: int(NEVER), type, parent: parentId ?? "", pathKey },
    ...{ depth: int(depth), attributes: JSON.stringify(attributes), metadata: JSON.stringify(metadata), text },
    ...{ tokens: int(tokens), ordinal: int(own.ordinal), children: int(own.children) },
  };
}
