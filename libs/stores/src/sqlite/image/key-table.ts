/**
 * The keys of a memory's states, by ordinal: the order in which they were written, which is that of their row ids. It holds
 * every state that was live at its floor or later, so that reads from the floor to the head find exactly what lives then.
 */
import type { NodeFilter, NodeKey } from "#core";
import { isDescendantPath } from "#core";
import { outermostPaths } from "../../outermost-paths.js";
import type { Connection } from "../connection.js";
import { keyColumns, type KeyTuple, NEVER } from "../states.js";
import { above, below } from "../tree-reads.js";
import { firstPosition, Growing } from "./growing.js";

/** Bytes of one key beside its numbers: two strings, their places, an entry of the map by id. */
const KEY_BYTES = 240;

/** States of a filter: positions in document order that may belong to it, and the test that decides. */
export interface Selection {
  /** Absent: anywhere. */
  readonly ranges?: readonly { readonly from: number; readonly to: number }[];
  /** Whether the state belongs to the filter and lives at the revision. */
  readonly includes: (ordinal: number) => boolean;
  /** The same without looking at places that `ranges` have settled. */
  readonly includesInRange: (ordinal: number) => boolean;
}

export class KeyTable {
  /** Revision up to which the table is known. */
  revision: number;
  readonly rows = new Growing((capacity) => new Float64Array(capacity), 0);
  readonly #ids: string[] = [];
  readonly #parents: (string | null)[] = [];
  readonly #paths: string[] = [];
  readonly #types = new Growing((capacity) => new Int32Array(capacity), 0);
  readonly #depths = new Growing((capacity) => new Int32Array(capacity), 0);
  readonly #born = new Growing((capacity) => new Float64Array(capacity), 0);
  readonly #died = new Growing((capacity) => new Float64Array(capacity), 0);
  readonly #typeNumbers = new Map<string, number>();
  readonly #typeNames: string[] = [];
  readonly #newest = new Map<string, number>();
  /** Ordinals in document order. */
  #order = new Int32Array();
  #dead = 0;

  constructor(
    private readonly memory: number,
    /** The oldest revision that can be read. */
    readonly floor: number,
  ) {
    this.revision = floor - 1;
  }

  get length(): number {
    return this.#paths.length;
  }

  get order(): Int32Array {
    return this.#order;
  }

  get bytes(): number {
    return this.length * (KEY_BYTES + 40);
  }

  /** More dead states than is worth to carry: it is better read anew. */
  get isWorn(): boolean {
    return this.#dead > 1_000 && this.#dead * 4 > this.length;
  }

  /** Reads what revisions up to `head` have made and ended. */
  catchUp(connection: Connection, head: number): void {
    if (head === this.revision) return;
    const first = this.length;
    const isFirst = this.revision < this.floor;
    const states = connection.iterate<readonly [...KeyTuple, row: number, died: number]>(
      `SELECT ${keyColumns("s")}, s.row, s.died FROM revisions r
       CROSS JOIN states s ON s.row BETWEEN r.first_state AND r.last_state
       WHERE r.memory = ? AND r.revision > ? AND s.died > ?`,
      [this.memory, isFirst ? 0 : this.revision, isFirst ? head : 0],
    );
    for (const state of states) this.#add(state);
    if (!isFirst) this.#learnDeaths(connection, first);
    this.#insertInOrder(first);
    this.revision = head;
  }

  path(ordinal: number): string {
    return this.#paths[ordinal] ?? "";
  }

  key(ordinal: number): NodeKey {
    return {
      id: this.#ids[ordinal] ?? "",
      born: this.#born.values[ordinal] ?? 0,
      type: this.#typeNames[this.#types.values[ordinal] ?? 0] ?? "",
      parentId: this.#parents[ordinal] ?? null,
      pathKey: this.path(ordinal),
      depth: this.#depths.values[ordinal] ?? 0,
    };
  }

  /** The ordinal of the newest state of a node; undefined if it is another one that is asked for. */
  find(id: string, born: number): number | undefined {
    const ordinal = this.#newest.get(id);
    return ordinal !== undefined && this.#born.values[ordinal] === born ? ordinal : undefined;
  }

  /** The ordinal of a row; undefined if it died before the floor. */
  ordinalOf(row: number): number | undefined {
    const rows = this.rows.values;
    const position = firstPosition(this.length, (at) => (rows[at] ?? 0) >= row);
    return rows[position] === row && position < this.length ? position : undefined;
  }

  /** The states of a filter at a revision. */
  select({ type, scope }: NodeFilter, revision: number): Selection {
    const isLive = this.#liveTest(type, revision);
    if (scope.kind === "descendants") {
      const paths = outermostPaths(scope.of);
      if (paths[0] === "") return { includes: isLive, includesInRange: isLive };
      const isWithin = (ordinal: number): boolean => isBelowOneOf(this.path(ordinal), paths);
      const includes = (ordinal: number): boolean => isLive(ordinal) && isWithin(ordinal);
      return { ranges: paths.map((path) => this.#range(path)), includes, includesInRange: isLive };
    }
    const parents = new Set(scope.of);
    const includes = (ordinal: number): boolean => isLive(ordinal) && parents.has(this.#parents[ordinal] ?? null);
    const places = [...parents].map((id) => (id === null ? "" : this.#pathOf(id, revision)));
    const known = places.filter((path) => path !== undefined);
    if (known.length < places.length || known.includes("")) return { includes, includesInRange: includes };
    return { ranges: outermostPaths(known).map((path) => this.#range(path)), includes, includesInRange: includes };
  }

  #liveTest(type: string | undefined, revision: number): (ordinal: number) => boolean {
    const number = type === undefined ? undefined : (this.#typeNumbers.get(type) ?? -1);
    const [types, born, died] = [this.#types.values, this.#born.values, this.#died.values];
    return (ordinal) =>
      (number === undefined || types[ordinal] === number) &&
      (died[ordinal] ?? 0) > revision &&
      (born[ordinal] ?? Infinity) <= revision;
  }

  /** Where a node lies at a revision; undefined if its newest state is not that one. */
  #pathOf(id: string, revision: number): string | undefined {
    const ordinal = this.#newest.get(id);
    return ordinal !== undefined && this.#liveTest(undefined, revision)(ordinal) ? this.path(ordinal) : undefined;
  }

  #range(path: string): { readonly from: number; readonly to: number } {
    const position = (bound: string): number =>
      firstPosition(this.#order.length, (at) => this.path(this.#order[at] ?? 0) >= bound);
    return { from: position(below(path)), to: position(above(path)) };
  }

  #add([id, born, type, parent, path, depth, row, died]: readonly [...KeyTuple, row: number, died: number]): void {
    const ordinal = this.length;
    this.#newest.set(id, ordinal);
    this.#ids.push(id);
    // The parent's own string: the column made another one of the same characters.
    this.#parents.push(parent === null ? null : (this.#ids[this.#newest.get(parent) ?? -1] ?? parent));
    this.#paths.push(path);
    this.rows.push(row);
    this.#types.push(this.#numberOf(type));
    this.#depths.push(depth);
    this.#born.push(born);
    this.#died.push(died);
    if (died !== NEVER) this.#dead += 1;
  }

  #numberOf(type: string): number {
    const known = this.#typeNumbers.get(type);
    if (known !== undefined) return known;
    const number = this.#typeNames.push(type) - 1;
    this.#typeNumbers.set(type, number);
    return number;
  }

  #learnDeaths(connection: Connection, before: number): void {
    const deaths = connection.tuples<readonly [row: number, died: number]>(
      "SELECT row, died FROM states INDEXED BY states_by_death WHERE memory = ? AND died > ? AND head = 0",
      [this.memory, this.revision],
    );
    for (const [row, died] of deaths) {
      const ordinal = this.ordinalOf(row);
      if (ordinal === undefined || ordinal >= before) continue;
      this.#died.values[ordinal] = died;
      this.#dead += 1;
    }
  }

  /** New ordinals take their places; those of an append lie behind all others. */
  #insertInOrder(first: number): void {
    const byPath = (left: number, right: number): number =>
      this.path(left) < this.path(right) ? -1 : this.path(left) > this.path(right) ? 1 : left - right;
    const added = Int32Array.from({ length: this.length - first }, (_, index) => first + index);
    if (added.some((ordinal, index) => index > 0 && byPath(added[index - 1] ?? 0, ordinal) > 0)) added.sort(byPath);
    const merged = new Int32Array(this.length);
    let [old, young] = [0, 0];
    for (let at = 0; at < merged.length; at += 1) {
      const [one, other] = [this.#order[old], added[young]];
      const takesOld = other === undefined || (one !== undefined && byPath(one, other) < 0);
      merged[at] = (takesOld ? one : other) ?? 0;
      if (takesOld) old += 1;
      else young += 1;
    }
    this.#order = merged;
  }
}

/** Whether a path lies below one of a list of disjoint paths in document order. O(log n). */
function isBelowOneOf(path: string, paths: readonly string[]): boolean {
  const behind = firstPosition(paths.length, (at) => (paths[at] ?? "") >= path);
  const candidate = paths[behind - 1];
  return candidate !== undefined && isDescendantPath(path, candidate);
}
