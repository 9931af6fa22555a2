import type { Attributes, NodeKey, NodeState } from "#core";
import type { RunRow } from "#query";

/** `died` of a state that lives: larger than any revision, exact as a double. */
export const NEVER = Number.MAX_SAFE_INTEGER;

/** The columns of a key, in the order of `KeyTuple`. */
export const keyColumns = (alias: string): string =>
  ["id", "born", "type", "parent", "path", "depth"].map((column) => `${alias}.${column}`).join(", ");

export type KeyTuple = readonly [
  id: string,
  born: number,
  type: string,
  parent: string | null,
  path: string,
  depth: number,
];

export const valueColumns = (alias: string): string => `${alias}.attributes, ${alias}.metadata`;

/** The columns of a whole state, in the order of `StateTuple`. */
export const stateColumns = (alias: string): string =>
  `${keyColumns(alias)}, ${valueColumns(alias)}, ${alias}.text, ${alias}.tokens`;

export type StateTuple = readonly [
  ...key: KeyTuple,
  attributes: string,
  metadata: string,
  text: string,
  tokens: number,
];

/** Columns of a `StateTuple`: what follows it in a row begins here. */
export const STATE_WIDTH = 10;
export const KEY_WIDTH = 6;

export function keyOf(tuple: KeyTuple): NodeKey {
  const [id, born, type, parentId, pathKey, depth] = tuple;
  return { id, born, type, parentId, pathKey, depth };
}

export function valuesOf(attributes: string, metadata: string): Required<Pick<RunRow, "attributes" | "metadata">> {
  return { attributes: JSON.parse(attributes) as Attributes, metadata: JSON.parse(metadata) as Attributes };
}

export function stateOf(tuple: StateTuple): NodeState {
  const [id, born, type, parentId, pathKey, depth, attributes, metadata, text, tokens] = tuple;
  return { id, born, type, parentId, pathKey, depth, ...valuesOf(attributes, metadata), text, tokens };
}

/** How a statement picks the states that are live at the revision it reads. */
export interface Liveness {
  /** The head is read through the partial indexes; an older revision through the index over all states. */
  readonly head: boolean;
  readonly revision: number;
}

/** Condition on the states of an alias; binds `:revision` unless the head is read. */
export function liveCondition(alias: string, { head }: Pick<Liveness, "head">): string {
  return head ? `${alias}.head = 1` : `${alias}.born <= :revision AND ${alias}.died > :revision`;
}

/** The parameters of `liveCondition`. */
export function liveParameters({ head, revision }: Liveness): Readonly<Record<string, number>> {
  return head ? {} : { revision };
}
