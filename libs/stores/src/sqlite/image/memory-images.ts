/**
 * Images: copies of the keys, vectors and postings of the memories that a process searches, held in its own memory. A search
 * over a whole memory reads tens of thousands of rows, which typed arrays give a hundred times faster than statements.
 *
 * An image is brought up to date at the beginning of every read, in the read's own transaction: what other processes have
 * committed is an index range away. It serves reads from the revision at which it was made (its floor) up to the head; older
 * ones, small ones and those of memories that are too large for it are answered by statements, with equal values.
 */
import { LRUCache } from "lru-cache";
import type { StateRef } from "#scoring";
import type { Connection } from "../connection.js";
import type { MemoryHead } from "../memories.js";
import type { VectorSet } from "../vector-sets.js";
import { KeyTable } from "./key-table.js";
import { PostingLists } from "./posting-lists.js";
import { VectorArray } from "./vector-array.js";
import { VectorMatrix } from "./vector-matrix.js";

/** Bytes that the keys of a node take, about. */
const NODE_BYTES = 300;
/** Memories and sets whose reads by statements are counted. */
const COUNTED = 10_000;

/** What a read is about to do. */
export interface ReadSize {
  readonly revision: number;
  /** States, or postings, that a statement would look at: asked for while there is no image. */
  readonly states: () => number;
}

export interface MemoryImage {
  readonly keys: KeyTable;
  readonly matrices: Map<number, VectorMatrix>;
  readonly postings: PostingLists;
}

export class MemoryImages {
  readonly #images: LRUCache<number, MemoryImage> | undefined;
  /** States that statements have looked at in place of an image. */
  readonly #spent = new LRUCache<string, number>({ max: COUNTED });

  /** `bytes`: of all images together; 0 keeps none. */
  constructor(private readonly bytes: number) {
    this.#images =
      bytes === 0
        ? undefined
        : new LRUCache({ maxSize: bytes, sizeCalculation: (image) => Math.max(1, bytesOf(image)) });
  }

  /** The image of a memory, for a read of keys and postings; undefined if statements are to answer. */
  open(connection: Connection, memory: MemoryHead, size: ReadSize): MemoryImage | undefined {
    const held = this.#images?.get(memory.row);
    if (held === undefined && !this.#pays(`keys ${memory.row}`, memory, size)) return undefined;
    const image = this.#current(connection, memory, size.revision, memory.nodes * NODE_BYTES);
    if (image !== undefined) this.#images?.set(memory.row, image);
    return image;
  }

  /** The same with the vectors of a set. */
  openVectors(
    connection: Connection,
    memory: MemoryHead,
    set: VectorSet,
    size: ReadSize,
  ): { readonly image: MemoryImage; readonly matrix: VectorMatrix } | undefined {
    if (!VectorArray.fits(set.dimension, set.live)) return undefined;
    const held = this.#images?.get(memory.row)?.matrices.get(set.id);
    if (held === undefined && !this.#pays(`vectors ${set.id}`, memory, size)) return undefined;
    const needed = memory.nodes * NODE_BYTES + set.live * set.dimension * Float32Array.BYTES_PER_ELEMENT;
    const image = this.#current(connection, memory, size.revision, needed);
    if (image === undefined) return undefined;
    if (!image.matrices.has(set.id)) forgetDeletedSets(connection, memory, image);
    const matrix = image.matrices.get(set.id) ?? VectorMatrix.make(image.keys, set);
    matrix?.catchUp(connection);
    if (matrix !== undefined) image.matrices.set(set.id, matrix);
    this.#images?.set(memory.row, image);
    return matrix && { image, matrix };
  }

  /** Forgets a memory that is gone. */
  drop(memory: number): void {
    this.#images?.delete(memory);
  }

  /** An image costs a look at every node: it is made once as many have been looked at without one. */
  #pays(what: string, memory: MemoryHead, { states }: ReadSize): boolean {
    if (this.#images === undefined) return false;
    const spent = (this.#spent.get(what) ?? 0) + states();
    this.#spent.set(what, spent);
    return spent >= memory.nodes;
  }

  /** An image that is up to date and can answer at the revision. */
  #current(connection: Connection, memory: MemoryHead, revision: number, needed: number): MemoryImage | undefined {
    if (this.#images === undefined || needed > this.bytes) return undefined;
    const held = this.#images.get(memory.row);
    if (held !== undefined && !held.keys.isWorn) {
      if (revision < held.keys.floor || revision > memory.revision) return undefined;
      held.keys.catchUp(connection, memory.revision);
      return held;
    }
    if (revision !== memory.revision) return undefined;
    const keys = new KeyTable(memory.row, memory.revision);
    keys.catchUp(connection, memory.revision);
    return { keys, matrices: new Map(), postings: new PostingLists(keys) };
  }
}

/** The ordinals of states; undefined if the image does not know all of them. */
export function ordinalsOf({ keys }: MemoryImage, states: readonly StateRef[]): Int32Array | undefined {
  const ordinals = new Int32Array(states.length);
  for (const [at, { id, born }] of states.entries()) {
    const ordinal = keys.find(id, born);
    if (ordinal === undefined) return undefined;
    ordinals[at] = ordinal;
  }
  return ordinals;
}

/** The matrices of a model that the memory has left are only ballast. */
function forgetDeletedSets(connection: Connection, { row }: MemoryHead, { matrices }: MemoryImage): void {
  const sets = connection.all<{ readonly id: number }>("SELECT id FROM vector_sets WHERE memory = ?", [row]);
  const known = new Set(sets.map(({ id }) => id));
  for (const id of matrices.keys()) if (!known.has(id)) matrices.delete(id);
}

function bytesOf({ keys, matrices, postings }: MemoryImage): number {
  return [...matrices.values()].reduce((sum, matrix) => sum + matrix.bytes, keys.bytes + postings.bytes);
}
