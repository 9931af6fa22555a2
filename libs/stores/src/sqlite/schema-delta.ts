import { type Attributes, type AttributeValue, printValue } from "#core";
import type { ValueKind } from "#memory";
import { kindOf } from "../value-kinds.js";
import type { Connection } from "./connection.js";

interface Described {
  readonly type: string;
  readonly attributes: Attributes;
  readonly metadata: Attributes;
}

interface NameDelta {
  readonly key: readonly [type: string, section: string, name: string, kind: ValueKind];
  count: number;
  texts: number;
}

/** How a change set moves the counters of a memory's schema: a schema is never counted over its nodes. */
export class SchemaDelta {
  readonly #types = new Map<string, number>();
  readonly #names = new Map<string, NameDelta>();
  readonly #relations = new Map<string, { readonly parent: string; readonly child: string; count: number }>();

  /** `sign` is 1 for a state that begins, -1 for one that ends. */
  count(state: Described, sign: 1 | -1): void {
    this.#types.set(state.type, (this.#types.get(state.type) ?? 0) + sign);
    for (const [name, value] of Object.entries(state.attributes))
      this.#countName(state.type, "attribute", name, value, sign);
    for (const [name, value] of Object.entries(state.metadata))
      this.#countName(state.type, "metadata", name, value, sign);
  }

  relate(parent: string, child: string, count: number): void {
    const key = `${parent} ${child}`;
    const relation = this.#relations.get(key) ?? { parent, child, count: 0 };
    relation.count += count;
    this.#relations.set(key, relation);
  }

  /** Writes the counters; true if anything appeared or disappeared. */
  apply(connection: Connection, memory: number): boolean {
    const edges: boolean[] = [];
    const note = (count: number, delta: number): void => {
      edges.push(count === 0 || count === delta);
    };
    for (const [type, delta] of this.#types) {
      if (delta === 0) continue;
      note(bump(connection, "schema_types", { type }, { memory, count: delta }), delta);
    }
    for (const { key, count, texts } of this.#names.values()) {
      if (count === 0 && texts === 0) continue;
      const [type, section, name, kind] = key;
      note(bump(connection, "schema_names", { type, section, name, kind }, { memory, count, texts }), count);
    }
    for (const { parent, child, count } of this.#relations.values()) {
      if (count === 0) continue;
      note(bump(connection, "schema_relations", { parent, child }, { memory, count }), count);
    }
    const changed = edges.includes(true);
    for (const table of changed ? ["schema_types", "schema_names", "schema_relations"] : []) {
      connection.run(`DELETE FROM ${table} WHERE memory = ? AND count = 0`, [memory]);
    }
    return changed;
  }

  #countName(type: string, section: string, name: string, value: AttributeValue, sign: 1 | -1): void {
    const kind = kindOf(value);
    const key = `${type} ${section} ${name} ${kind}`;
    const delta = this.#names.get(key) ?? { key: [type, section, name, kind], count: 0, texts: 0 };
    delta.count += sign;
    if (printValue(value) !== "") delta.texts += sign;
    this.#names.set(key, delta);
  }
}

/** Adds to the counters of one row and answers its count. */
function bump(
  connection: Connection,
  table: string,
  key: Readonly<Record<string, string>>,
  { memory, ...deltas }: { readonly memory: number; readonly count: number; readonly texts?: number },
): number {
  const columns = ["memory", ...Object.keys(key)];
  const counters = Object.keys(deltas);
  const all = [...columns, ...counters];
  const row = connection.get<{ readonly count: number }>(
    `INSERT INTO ${table} (${all.join(", ")}) VALUES (${all.map((column) => `:${column}`).join(", ")})
     ON CONFLICT (${columns.join(", ")}) DO UPDATE SET ${counters.map((name) => `${name} = ${name} + excluded.${name}`).join(", ")}
     RETURNING count`,
    { memory, ...key, ...deltas },
  );
  return row?.count ?? 0;
}
