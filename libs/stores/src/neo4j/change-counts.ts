import { type Attributes, fieldText, type NodeState } from "#core";
import { stateBytes, type ChangeSet, type NewState } from "#memory";
import { termWeights } from "#scoring";
import { kindOf, ROOT_TYPE } from "../value-kinds.js";

/** A state that the change set found live: one that it ends, or the parent of a new one. */
export interface LiveState extends NodeState {
  /** Live children. */
  readonly children: number;
}

/** Live children, by type, of a node that the change set does not end. */
export interface StayingChildren {
  readonly parent: string;
  readonly type: string;
  readonly count: number;
}

/** What a change set was found to change. */
export interface FoundStates {
  /** States that end, by id. */
  readonly ended: ReadonlyMap<string, LiveState>;
  /** States that stay and are parents of changed ones, by id. */
  readonly parents: ReadonlyMap<string, LiveState>;
  /** Children that stay below nodes that change their type. */
  readonly staying: readonly StayingChildren[];
}

/** How a change set moves the counters of its memory: nothing is ever counted over all nodes. */
export interface ChangeCounts {
  readonly nodes: number;
  readonly tokens: number;
  readonly bytes: number;
  /** Change of the number of children, by parent. */
  readonly children: ReadonlyMap<string | null, number>;
  /** Change per entry of the schema (`schemaEntry`); none is 0. */
  readonly schema: ReadonlyMap<string, number>;
}

/** An entry of a memory's schema: a type, a name of a type with the kind of its values, or a relation. */
export type SchemaEntry =
  | readonly [section: "type", type: string]
  | readonly [section: "attribute" | "metadata", type: string, name: string, kind: string]
  | readonly [section: "relation", parent: string, child: string];

/** O(changes). */
export function countChange(change: ChangeSet, { ended, parents, staying }: FoundStates): ChangeCounts {
  const children = new Map<string | null, number>();
  const schema = new Map<string, number>();
  const add = (entry: SchemaEntry, count: number): void => {
    bump(schema, JSON.stringify(entry), count);
  };
  const before = (id: string): string | undefined => (ended.get(id) ?? parents.get(id))?.type;
  const newTypes = new Map(change.states.map(({ id, type }) => [id, type]));
  const count = (state: NewState, sign: 1 | -1, parentType: string | undefined): void => {
    bump(children, state.parentId, sign);
    add(["type", state.type], sign);
    for (const section of ["attribute", "metadata"] as const) {
      const values: Attributes = section === "attribute" ? state.attributes : state.metadata;
      for (const [name, value] of Object.entries(values)) add([section, state.type, name, kindOf(value)], sign);
    }
    if (parentType !== undefined) add(["relation", parentType, state.type], sign);
  };
  for (const state of ended.values()) {
    count(state, -1, state.parentId === null ? ROOT_TYPE : before(state.parentId));
  }
  for (const state of change.states) {
    const { parentId } = state;
    count(state, 1, parentId === null ? ROOT_TYPE : (newTypes.get(parentId) ?? before(parentId)));
  }
  for (const { parent, type, count: stay } of staying) {
    const [from, to] = [before(parent), newTypes.get(parent)];
    if (from !== undefined) add(["relation", from, type], -stay);
    if (to !== undefined) add(["relation", to, type], stay);
  }
  return {
    nodes: change.states.length - ended.size,
    tokens: sumOver(change.states, ({ tokens }) => tokens) - sumOver([...ended.values()], ({ tokens }) => tokens),
    bytes: sumOver(change.states, stateBytes) - sumOver([...ended.values()], stateBytes),
    children: withoutZeros(children),
    schema: withoutZeros(schema),
  };
}

/** Change of the documents of each field and of each of its terms. */
export interface TermCounts {
  readonly fields: readonly { readonly field: string; readonly documents: number }[];
  readonly terms: readonly { readonly field: string; readonly term: string; readonly documents: number }[];
}

/**
 * How states that begin and end move the document frequencies. Terms come from the texts by the function that the index
 * weighs with, and not from the change set: what ends must take away exactly what its beginning added. O(texts).
 */
export function countTerms(
  fields: readonly string[],
  begin: readonly Pick<NodeState, "attributes" | "text">[],
  end: readonly Pick<NodeState, "attributes" | "text">[],
): TermCounts {
  const counts = fields.map((field) => {
    const terms = new Map<string, number>();
    let documents = 0;
    const count = (state: Pick<NodeState, "attributes" | "text">, sign: 1 | -1): void => {
      const text = fieldText(state, field) ?? "";
      if (text === "") return;
      documents += sign;
      for (const term of termWeights(text).keys()) bump(terms, term, sign);
    };
    for (const state of begin) count(state, 1);
    for (const state of end) count(state, -1);
    return { field, documents, terms };
  });
  return termCounts(counts);
}

/** Counts of parts of a change set together. O(counts). */
export function sumTerms(parts: readonly TermCounts[]): TermCounts {
  const counts = new Map<string, { documents: number; readonly terms: Map<string, number> }>();
  const countsOf = (field: string) => {
    const known = counts.get(field) ?? { documents: 0, terms: new Map<string, number>() };
    counts.set(field, known);
    return known;
  };
  for (const { fields, terms } of parts) {
    for (const { field, documents } of fields) countsOf(field).documents += documents;
    for (const { field, term, documents } of terms) bump(countsOf(field).terms, term, documents);
  }
  return termCounts([...counts].map(([field, of]) => ({ field, ...of })));
}

/** Without what is 0. */
function termCounts(
  counts: readonly {
    readonly field: string;
    readonly documents: number;
    readonly terms: ReadonlyMap<string, number>;
  }[],
): TermCounts {
  return {
    fields: counts.filter(({ documents }) => documents !== 0).map(({ field, documents }) => ({ field, documents })),
    terms: counts.flatMap(({ field, terms }) =>
      [...withoutZeros(terms)].map(([term, documents]) => ({ field, term, documents })),
    ),
  };
}

function bump<Key>(counts: Map<Key, number>, key: Key, by: number): void {
  counts.set(key, (counts.get(key) ?? 0) + by);
}

const withoutZeros = <Key>(counts: ReadonlyMap<Key, number>): ReadonlyMap<Key, number> =>
  new Map([...counts].filter(([, count]) => count !== 0));

const sumOver = (states: readonly NewState[], of: (state: NewState) => number): number =>
  states.reduce((sum, state) => sum + of(state), 0);
