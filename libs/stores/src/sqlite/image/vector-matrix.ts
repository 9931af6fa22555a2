import { BestFirst } from "../../best-first.js";
import { roundRelevance } from "#core";
import type { Connection } from "../connection.js";
import type { VectorSet } from "../vector-sets.js";
import { Growing } from "./growing.js";
import type { KeyTable, Selection } from "./key-table.js";
import { VectorArray } from "./vector-array.js";

/** A state of a search's result. */
export interface FoundState {
  readonly ordinal: number;
  readonly path: string;
  /** Rounded to 1e-6. */
  readonly value: number;
}

/** Half a step of rounding, and a little: a value below by that cannot round up to it. */
const ROUNDING = 1e-6;

/** The vectors of a set side by side, one slot each, in the order in which they were written. */
export class VectorMatrix {
  readonly #vectors: VectorArray;
  /** Slot -> ordinal. */
  readonly #ordinals: Growing<Int32Array>;
  /** Ordinal -> slot, -1 where there is none. */
  readonly #slots = new Growing((capacity) => new Int32Array(capacity), 0);
  #sequence = 0;

  /** @throws NoRoom where there is no room for the vectors */
  constructor(
    private readonly keys: KeyTable,
    private readonly set: VectorSet,
    mostPages?: number,
  ) {
    this.#vectors = new VectorArray(set.dimension, set.live, mostPages);
    this.#ordinals = new Growing((capacity) => new Int32Array(capacity), set.live);
  }

  get bytes(): number {
    return this.#vectors.bytes + this.#ordinals.bytes + this.#slots.bytes;
  }

  /**
   * Reads the vectors that were written since; after the keys have caught up.
   * @throws NoRoom where there is no room for them: what was read of them is of no use
   */
  catchUp(connection: Connection): void {
    while (this.#slots.length < this.keys.length) this.#slots.push(-1);
    const rows = connection.iterate<readonly [sequence: number, state: number, vector: Uint8Array]>(
      `SELECT sequence, state, vector FROM vectors INDEXED BY vectors_by_sequence
       WHERE vector_set = ? AND sequence > ? ORDER BY sequence`,
      [this.set.id, this.#sequence],
    );
    for (const [sequence, state, vector] of rows) {
      const ordinal = this.keys.ordinalOf(state);
      if (ordinal !== undefined) this.#put(ordinal, vector);
      this.#sequence = sequence;
    }
  }

  /** Cosine per ordinal; NaN where there is no vector. */
  scores(vector: Float32Array, ordinals: Int32Array): Float64Array {
    const slots = ordinals.map((ordinal) => this.#slots.values[ordinal] ?? -1);
    return this.#vectors.cosines(vector, slots);
  }

  /** The best of a selection; values of 0 are left out. O(states of the selection). */
  topK(vector: Float32Array, selection: Selection, limit: number): readonly FoundState[] {
    const slots = this.#slotsOf(selection);
    const cosines = this.#vectors.cosines(vector, slots);
    const best = new BestFirst<FoundState>(limit);
    let threshold = best.threshold;
    for (let at = 0; at < slots.length; at += 1) {
      const cosine = cosines[at] ?? 0;
      if (cosine <= 0 || cosine < threshold - ROUNDING) continue;
      const value = roundRelevance(cosine);
      if (value <= 0) continue;
      const ordinal = this.#ordinals.values[slots[at] ?? 0] ?? 0;
      best.offer({ ordinal, value, path: this.keys.path(ordinal) });
      threshold = best.threshold;
    }
    return best.ranked();
  }

  /** The slots of a selection's states. */
  #slotsOf({ ranges, includesInRange }: Selection): Int32Array {
    const found = new Int32Array(this.#ordinals.length);
    let count = 0;
    const [ordinals, order, slots] = [this.#ordinals.values, this.keys.order, this.#slots.values];
    if (ranges === undefined) {
      for (let slot = 0; slot < found.length; slot += 1) {
        if (includesInRange(ordinals[slot] ?? 0)) found[count++] = slot;
      }
      return found.subarray(0, count);
    }
    for (const { from, to } of ranges) {
      for (let at = from; at < to; at += 1) {
        const ordinal = order[at] ?? 0;
        const slot = slots[ordinal] ?? -1;
        if (slot >= 0 && includesInRange(ordinal)) found[count++] = slot;
      }
    }
    return found.subarray(0, count);
  }

  #put(ordinal: number, bytes: Uint8Array): void {
    const known = this.#slots.values[ordinal] ?? -1;
    if (known >= 0) {
      this.#vectors.set(known, bytes);
      return;
    }
    this.#vectors.push(bytes);
    this.#slots.values[ordinal] = this.#ordinals.length;
    this.#ordinals.push(ordinal);
  }
}
