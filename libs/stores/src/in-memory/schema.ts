import { type Attributes } from "#core";
import type { MemorySchema, NameSummary } from "#memory";
import { kindOf, ROOT_TYPE } from "../value-kinds.js";
import type { StoredState } from "./tables.js";

/** Σ counted over live nodes. */
export function schemaOf(live: readonly StoredState[], version: number): MemorySchema {
  const typeOf = new Map(live.map(({ id, type }) => [id, type]));
  const byType = Map.groupBy(live, ({ type }) => type);
  const pairs = Map.groupBy(live, ({ parentId, type }) =>
    JSON.stringify([parentId === null ? ROOT_TYPE : typeOf.get(parentId), type]),
  );
  return {
    version,
    types: [...byType].sort(byName).map(([type, states]) => ({
      type,
      count: states.length,
      attributes: summaries(states.map(({ attributes }) => attributes)),
      metadata: summaries(states.map(({ metadata }) => metadata)),
    })),
    relations: [...pairs].sort(byName).map(([pair, states]) => {
      const [parent, child] = JSON.parse(pair) as [string, string];
      return { parent, child, count: states.length };
    }),
  };
}

function summaries(sections: readonly Attributes[]): readonly NameSummary[] {
  const entries = sections.flatMap((section) => Object.entries(section));
  return [...Map.groupBy(entries, ([name]) => name)].sort(byName).map(([name, values]) => {
    const kinds = Map.groupBy(values, ([, value]) => kindOf(value));
    return {
      name,
      kinds: Object.fromEntries([...kinds].sort(byName).map(([kind, some]) => [kind, some.length])),
      count: values.length,
    };
  });
}

function byName([left]: readonly [string, unknown], [right]: readonly [string, unknown]): number {
  return left < right ? -1 : 1;
}
