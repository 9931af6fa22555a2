/**
 * The node model that every lib shares (architecture, "Node model"). Pure data.
 */

/** What an attribute or a metadata entry can hold. Numbers are finite. */
export type AttributeValue = string | number | boolean | readonly string[];

/** Names to values; insertion order is meaningful (it is the order of the scored text). */
export type Attributes = Readonly<Record<string, AttributeValue>>;

/** Which (tenant, memory) an operation touches; every storage key begins with both. */
export interface MemoryScope {
  /** TypeID `ten_…`, or `default`. */
  readonly tenant: string;
  /** TypeID `mem_…`. */
  readonly memory: string;
}

/** What structure needs of one node state: no texts, no attributes. */
export interface NodeKey {
  /** TypeID `nod_…`; the same for all states of one logical node. */
  readonly id: string;
  /** Revision that made this state; (id, born) names a state. */
  readonly born: number;
  readonly type: string;
  /** `null` for a child of the memory's root (the root itself is virtual and never stored). */
  readonly parentId: string | null;
  /** Ancestors' position keys joined with `.`; string order is document order; the root's is `""`. ASCII. */
  readonly pathKey: string;
  /** 1 for a child of the root. */
  readonly depth: number;
}

/** A node state with what it says. */
export interface NodeState extends NodeKey {
  readonly attributes: Attributes;
  readonly metadata: Attributes;
  /** The scored text (may be empty). */
  readonly text: string;
  /** o200k tokens of `text`. */
  readonly tokens: number;
}

/** The nodes a push-down search ranges over: an axis from a set of contexts, and a node test. */
export interface NodeFilter {
  /** Absent: any type. */
  readonly type?: string;
  readonly scope:
    | {
        readonly kind: "descendants";
        /** Path keys of the contexts; `""` is the root. */ readonly of: readonly string[];
      }
    | {
        readonly kind: "children";
        /** Ids of the contexts; `null` is the root. */ readonly of: readonly (string | null)[];
      };
}

/** The field name of a node's whole text; any other field is the attribute of that name. */
export const NODE_FIELD = "";

/** Separates position keys in a path key; sorts below every character a position key can have. */
export const PATH_SEPARATOR = ".";

/** True if `pathKey` lies strictly below `ancestor` (`""` is the root, above everything). O(length). */
export function isDescendantPath(pathKey: string, ancestor: string): boolean {
  return ancestor === "" ? pathKey !== "" : pathKey.startsWith(ancestor + PATH_SEPARATOR);
}

/**
 * The text of one field of a node: the node's own text, a string attribute as it is, another attribute as printed
 * (lists joined by `, `). A missing attribute is `undefined`, which scores 0 just as the empty text does.
 */
export function fieldText(node: Pick<NodeState, "attributes" | "text">, field: string): string | undefined {
  if (field === NODE_FIELD) return node.text;
  const value = Object.hasOwn(node.attributes, field) ? node.attributes[field] : undefined;
  return value === undefined ? undefined : printValue(value);
}

/** An attribute value as text: lists joined by `, `, everything else as JavaScript prints it. */
export function printValue(value: AttributeValue): string {
  return typeof value === "string" ? value : Array.isArray(value) ? value.join(", ") : String(value);
}
