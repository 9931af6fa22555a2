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
/** Until vectors are taken in again after there was no room: to find that out takes as long as many searches. */
const NO_ROOM_MS = 60_000;

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
  /** Until when (`performance.now()`) no vectors are taken in. */
  #noRoomUntil = 0;

  /** `bytes`: of all images together; 0 keeps none. `vectorPages`: the most of one set's vectors. */
  constructor(
    private readonly bytes: number,
    private readonly vectorPages = VectorArray.MOST_PAGES,
  ) {
    this.#images =
      bytes === 0
        ? undefined
        : new LRUCache({ maxSize: bytes, sizeCalculation: (image) => Math.max(1, bytesOf(image)) });
  }

  /** What the images take, and of how many sets they have the vectors. */
  get held(): { readonly bytes: number; readonly vectorSets: number } {
    const images = [...(this.#images?.values() ?? [])];
    return {
      bytes: images.reduce((sum, image) => sum + bytesOf(image), 0),
      vectorSets: images.reduce((sum, { matrices }) => sum + matrices.size, 0),
    };
  }

  /** The image of a memory, for a read of keys and postings; undefined if statements are to answer. */
  open(connection: Connection, memory: MemoryHead, size: ReadSize): MemoryImage | undefined {
    const held = this.#images?.get(memory.row);
    if (held === undefined && !this.#pays(`keys ${memory.row}`, memory, size)) return undefined;
    const image = this.#take(connection, memory, size.revision, memory.nodes * NODE_BYTES);
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
    const held = this.#images?.get(memory.row)?.matrices.has(set.id) === true;
    const vectorBytes = VectorArray.bytesOf(set.dimension, set.live);
    if (!held && !this.#hasRoom(vectorBytes)) return undefined;
    if (!held && !this.#pays(`vectors ${set.id}`, memory, size)) return undefined;
    const image = this.#take(connection, memory, size.revision, memory.nodes * NODE_BYTES + vectorBytes);
    if (image === undefined) return undefined;
    const matrix = this.#matrix(connection, memory, image, set);
    this.#images?.set(memory.row, image);
    return matrix && { image, matrix };
  }

  /** Forgets a memory that is gone. */
  drop(memory: number): void {
    this.#images?.delete(memory);
  }

  /** An image costs a look at every node: it is made once as many have been looked at without one since it was last made. */
  #pays(what: string, memory: MemoryHead, { states }: ReadSize): boolean {
    if (this.#images === undefined) return false;
    const spent = (this.#spent.get(what) ?? 0) + states();
    if (spent < memory.nodes) this.#spent.set(what, spent);
    else this.#spent.delete(what);
    return spent >= memory.nodes;
  }

  /** Dead vectors, which an image also carries, are a third of the living at most, or few. */
  #hasRoom(vectorBytes: number): boolean {
    return performance.now() >= this.#noRoomUntil && (vectorBytes * 4) / 3 <= this.vectorPages * VectorArray.PAGE_BYTES;
  }

  /**
   * An image that is up to date and can answer at the revision. It is taken out of those that are held, for whoever is done with
   * it to put it back, with the size that it has then: nobody reads one that was left halfway.
   */
  #take(connection: Connection, memory: MemoryHead, revision: number, needed: number): MemoryImage | undefined {
    if (this.#images === undefined || needed > this.bytes) return undefined;
    const held = this.#images.get(memory.row);
    if (held !== undefined && !held.keys.isWorn) {
      if (revision < held.keys.floor || revision > memory.revision) return undefined;
      this.#images.delete(memory.row);
      held.keys.catchUp(connection, memory.revision);
      return held;
    }
    if (revision !== memory.revision) return undefined;
    const keys = new KeyTable(memory.row, memory.revision);
    keys.catchUp(connection, memory.revision);
    return { keys, matrices: new Map(), postings: new PostingLists(keys) };
  }

  /** The vectors of a set, up to date; undefined, and none for a while, where the process has no room for them. */
  #matrix(connection: Connection, memory: MemoryHead, image: MemoryImage, set: VectorSet): VectorMatrix | undefined {
    const { keys, matrices } = image;
    if (!matrices.has(set.id)) forgetDeletedSets(connection, memory, image);
    const held = matrices.get(set.id);
    matrices.delete(set.id);
    try {
      const matrix = held ?? new VectorMatrix(keys, set, this.vectorPages);
      matrix.catchUp(connection);
      matrices.set(set.id, matrix);
      return matrix;
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      this.#noRoomUntil = performance.now() + NO_ROOM_MS;
      return undefined;
    }
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
