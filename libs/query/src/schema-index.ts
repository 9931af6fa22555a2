/** What validation needs of a memory's schema; `MemorySchema` has this shape. */
export interface QuerySchema {
  /** Types that occur, with the names on their nodes. Empty: the memory has no nodes. */
  readonly types: readonly {
    readonly type: string;
    readonly attributes: readonly { readonly name: string }[];
    readonly metadata: readonly { readonly name: string }[];
  }[];
  /** Parent type (`Memory` for the root) to child type. */
  readonly relations: readonly { readonly parent: string; readonly child: string }[];
}

/** The type name of the virtual root in `relations`. */
export const ROOT_TYPE = "Memory";

/** A schema by name, for look-ups. Built in O(schema). */
export class SchemaIndex {
  readonly #names = new Map<string, { readonly attributes: Set<string>; readonly metadata: Set<string> }>();
  readonly #children = new Map<string, Set<string>>();
  readonly #descendants = new Map<string, ReadonlySet<string>>();

  constructor(schema: QuerySchema) {
    for (const { type, attributes, metadata } of schema.types) {
      this.#names.set(type, { attributes: namesOf(attributes), metadata: namesOf(metadata) });
    }
    for (const { parent, child } of schema.relations) {
      const children = this.#children.get(parent) ?? new Set();
      this.#children.set(parent, children.add(child));
    }
  }

  /** Whether the memory has nodes. */
  get hasNodes(): boolean {
    return this.#names.size > 0;
  }

  get types(): readonly string[] {
    return [...this.#names.keys()];
  }

  /** Every attribute and metadata name. */
  get names(): ReadonlySet<string> {
    const all = new Set<string>();
    for (const { attributes, metadata } of this.#names.values()) {
      for (const name of [...attributes, ...metadata]) all.add(name);
    }
    return all;
  }

  hasType(type: string): boolean {
    return this.#names.has(type);
  }

  /** Whether nodes of a type have the attribute, or for a comparison the metadata entry. */
  carries(type: string, name: string, kind: "local" | "comparison"): boolean {
    const names = this.#names.get(type);
    return names?.attributes.has(name) === true || (kind === "comparison" && names?.metadata.has(name) === true);
  }

  /** Types that occur as a child of a type. */
  childrenOf(type: string): ReadonlySet<string> {
    return this.#children.get(type) ?? new Set();
  }

  /** Types that the relations allow anywhere below a type. */
  descendantsOf(type: string): ReadonlySet<string> {
    const known = this.#descendants.get(type);
    if (known !== undefined) return known;
    const found = new Set<string>();
    const open = [type];
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      for (const child of this.childrenOf(next)) {
        if (found.has(child)) continue;
        found.add(child);
        open.push(child);
      }
    }
    this.#descendants.set(type, found);
    return found;
  }
}

function namesOf(summaries: readonly { readonly name: string }[]): Set<string> {
  return new Set(summaries.map(({ name }) => name));
}
