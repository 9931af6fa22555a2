import type { Attributes, NodeState } from "#core";

/** What a field's text is read from: columns of a `:Node`. */
export interface StateColumns {
  readonly id: string;
  readonly born: number;
  readonly pathKey: string;
  readonly text: string;
  readonly tokens: number;
  /** JSON. */
  readonly attributes: string;
}

/** What a field's text is read from. */
export type FieldState = Pick<NodeState, "id" | "born" | "pathKey" | "text" | "tokens" | "attributes">;

export function stateOf({ id, born, pathKey, text, tokens, attributes }: StateColumns): FieldState {
  return { id, born, pathKey, text, tokens, attributes: JSON.parse(attributes) as Attributes };
}
