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
import { NoRoom, VectorArray } from "./vector-array.js";
import { VectorMatrix } from "./vector-matrix.js";

/** Bytes that the keys of a node take, about. */
const NODE_BYTES = 300;
/** Memories and sets whose reads by statements are counted. */
const COUNTED = 10_000;
/** For so long what had no room is not tried again: to find that out takes as long as many searches. */
const REFUSED_MS = 60_000;

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

  /** What had no room a moment ago. */
  readonly #refused = new LRUCache<string, true>({ max: COUNTED, ttl: REFUSED_MS });

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

  /** Answers a read of keys and postings; undefined if statements are to answer. An image that it leaves halfway, by an error, is forgotten. */
  open<T>(
    connection: Connection,
    memory: MemoryHead,
    size: ReadSize,
    use: (image: MemoryImage) => T | undefined,
  ): T | undefined {
    const keys = nameOfKeys(memory);
    if (this.#refused.has(keys) || memory.nodes * NODE_BYTES > this.bytes) return undefined;
    const held = this.#current(memory);
    if (held === undefined && !this.#pays(keys, memory, size)) return undefined;
    const image = this.#take(connection, memory, size.revision, held);
    if (image === undefined) return undefined;
    const found = use(image);
    if (this.#putBack(memory, image)) this.#spent.delete(keys);
    else this.#refused.set(keys, true);
    return found;
  }

  /** The same of a read of the vectors of a set. */
  openVectors<T>(
    connection: Connection,
    memory: MemoryHead,
    set: VectorSet,
    size: ReadSize,
    use: (image: MemoryImage, matrix: VectorMatrix) => T | undefined,
  ): T | undefined {
    const vectors = `vectors ${set.id}`;
    if (this.#refused.has(nameOfKeys(memory)) || this.#refused.has(vectors)) return undefined;
    const held = this.#current(memory);
    const bytes = VectorArray.bytesOf(set.dimension, set.live);
    if (memory.nodes * NODE_BYTES + bytes > this.bytes || bytes > this.vectorPages * VectorArray.PAGE_BYTES) {
      held?.matrices.delete(set.id);
      return undefined;
    }
    if (held?.matrices.has(set.id) !== true && !this.#pays(vectors, memory, size)) return undefined;
    const image = this.#take(connection, memory, size.revision, held);
    if (image === undefined) return undefined;
    const matrix = this.#matrix(connection, memory, image, set);
    const found = matrix && use(image, matrix);
    if (matrix !== undefined && this.#putBack(memory, image)) {
      this.#spent.delete(vectors);
    } else {
      image.matrices.delete(set.id);
      this.#refused.set(vectors, true);
      this.#putBack(memory, image);
    }
    return found;
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

  /** The image that is held, unless it carries too much that is dead. */
  #current({ row }: MemoryHead): MemoryImage | undefined {
    const held = this.#images?.get(row);
    if (held?.keys.isWorn !== true) return held;
    this.#images?.delete(row);
    return undefined;
  }

  /** An image that is up to date and can answer at the revision, taken out of those that are held. */
  #take(
    connection: Connection,
    memory: MemoryHead,
    revision: number,
    held: MemoryImage | undefined,
  ): MemoryImage | undefined {
    if (held !== undefined) {
      if (revision < held.keys.floor || revision > memory.revision) return undefined;
      this.#images?.delete(memory.row);
      held.keys.catchUp(connection, memory.revision);
      return held;
    }
    if (revision !== memory.revision) return undefined;
    const keys = new KeyTable(memory.row, memory.revision);
    keys.catchUp(connection, memory.revision);
    return { keys, matrices: new Map(), postings: new PostingLists(keys) };
  }

  /** With the size that it has now; false if it is too large to be held. */
  #putBack({ row }: MemoryHead, image: MemoryImage): boolean {
    this.#images?.set(row, image);
    return this.#images?.has(row) === true;
  }

  /** The vectors of a set, up to date; undefined where there is no room for them. */
  #matrix(connection: Connection, memory: MemoryHead, image: MemoryImage, set: VectorSet): VectorMatrix | undefined {
    const { keys, matrices } = image;
    if (!matrices.has(set.id)) forgetDeletedSets(connection, memory, image);
    try {
      const matrix = matrices.get(set.id) ?? new VectorMatrix(keys, set, this.vectorPages);
      matrix.catchUp(connection);
      matrices.set(set.id, matrix);
      return matrix;
    } catch (error) {
      if (error instanceof NoRoom) return undefined;
      throw error;
    }
  }
}

const nameOfKeys = ({ row }: MemoryHead): string => `keys ${row}`;

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
