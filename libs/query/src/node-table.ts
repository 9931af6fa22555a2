import type { Attributes, NodeKey } from "#core";

/** A row that a store answered. */
interface TableRow {
  readonly key: NodeKey;
  readonly attributes?: Attributes;
  readonly metadata?: Attributes;
}

/**
 * Nodes by small integers, so that sets are index arrays and values are typed arrays. Ids are hashed only once a node can
 * be met twice: a plain query over many candidates never builds the map.
 */
export class NodeTable {
  readonly #rows: TableRow[] = [];
  #byId: Map<string, number> | undefined;

  get size(): number {
    return this.#rows.length;
  }

  /** Indexes of rows that differ from each other. O(rows). */
  add(rows: readonly TableRow[]): Int32Array {
    const indexes = new Int32Array(rows.length);
    const fresh = this.size === 0;
    for (let at = 0; at < rows.length; at++) {
      const row = rows[at];
      if (row !== undefined) indexes[at] = fresh ? this.#rows.push(row) - 1 : this.intern(row);
    }
    return indexes;
  }

  /** Index of a row, known or new; values are kept from whichever row brought them. Amortised O(1). */
  intern(row: TableRow): number {
    const byId = (this.#byId ??= new Map(this.#rows.map(({ key }, index) => [key.id, index])));
    const known = byId.get(row.key.id);
    if (known === undefined) {
      const index = this.#rows.push(row) - 1;
      byId.set(row.key.id, index);
      return index;
    }
    if (row.attributes !== undefined && this.row(known).attributes === undefined) this.#rows[known] = row;
    return known;
  }

  /** A node by its index. */
  row(index: number): TableRow {
    const row = this.#rows[index];
    if (row === undefined) throw new RangeError("no node has this index");
    return row;
  }

  key(index: number): NodeKey {
    return this.row(index).key;
  }
}
