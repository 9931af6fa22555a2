import { inverseLength } from "../../cosine.js";
import { DOTS_WASM } from "./dots.js";
import { Growing } from "./growing.js";

/** The function of dots.wat. */
type Dots = (own: number, others: number, end: number, values: number, bytes: number) => void;

/** What is used of it: TypeScript has its types among those of browsers only. */
declare const WebAssembly: {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Memory: new (pages: { readonly initial: number; readonly maximum: number }) => Memory;
  readonly Instance: new (
    module: object,
    imports: { readonly vectors: { readonly memory: Memory } },
  ) => { readonly exports: { readonly dots: Dots } };
};
interface Memory {
  /** Another one after it has grown. */
  readonly buffer: ArrayBuffer;
  grow(pages: number): number;
}

const DOTS = new WebAssembly.Module(Buffer.from(DOTS_WASM, "base64"));
/** Where the vector lies that the others are compared with. */
const OWN = 0;
/** Vectors of one call: their addresses and values lie beside the vectors. */
const BLOCK = 1_024;
/** Numbers that are read at once: vectors are filled up with zeros to a multiple of them. */
const LANES = 4;

/** There is no room for more vectors. */
export class NoRoom extends Error {}

/**
 * Vectors of one dimension side by side, one slot each, in a memory of their own (at most 4 GiB), where code that knows no
 * bounds of arrays computes their cosines. Values are those of `Query.cosine`, to the last bit.
 */
export class VectorArray {
  static readonly PAGE_BYTES = 65_536;
  /** One page less than addresses of 32 bits reach: the end of the last vector has one, too. */
  static readonly MOST_PAGES = 65_535;

  readonly #inverse = new Growing((capacity) => new Float64Array(capacity), 0);
  readonly #layout: Layout;
  readonly #memory: Memory;
  readonly #dots: Dots;

  /** @throws NoRoom where the process has no room for so many vectors */
  constructor(
    private readonly dimension: number,
    capacity: number,
    private readonly mostPages = VectorArray.MOST_PAGES,
  ) {
    this.#layout = layoutOf(dimension);
    const initial = pagesOf(this.#layout, capacity);
    this.#memory = withRoom(() => new WebAssembly.Memory({ initial, maximum: mostPages }));
    this.#dots = new WebAssembly.Instance(DOTS, { vectors: { memory: this.#memory } }).exports.dots;
  }

  /** Of an array of so many vectors, without what it has for more. */
  static bytesOf(dimension: number, vectors: number): number {
    const numbers = pagesOf(layoutOf(dimension), vectors) * VectorArray.PAGE_BYTES;
    return numbers + vectors * Float64Array.BYTES_PER_ELEMENT;
  }

  get length(): number {
    return this.#inverse.length;
  }

  get bytes(): number {
    return this.#memory.buffer.byteLength + this.#inverse.bytes;
  }

  /** Appends the vector that is kept as these bytes. @throws NoRoom where there is no room for it */
  push(bytes: Uint8Array): void {
    const slot = this.length;
    this.#reserve(slot + 1);
    this.#inverse.push(this.#write(slot, bytes));
  }

  /** Replaces the vector of a slot. */
  set(slot: number, bytes: Uint8Array): void {
    this.#inverse.values[slot] = this.#write(slot, bytes);
  }

  /** Cosines with the vectors of slots, NaN for slot -1. O(slots x dimension). */
  cosines(vector: Float32Array, slots: Int32Array): Float64Array {
    const found = new Float64Array(slots.length);
    if (this.length === 0) return found.fill(Number.NaN);
    const [layout, memory] = [this.#layout, this.#memory];
    new Float64Array(memory.buffer, OWN, vector.length).set(vector);
    const others = new Uint32Array(memory.buffer, layout.others, BLOCK);
    const values = new Float64Array(memory.buffer, layout.values, BLOCK);
    const [own, inverse] = [inverseLength(vector, 0, vector.length), this.#inverse.values];
    for (let from = 0; from < slots.length; from += BLOCK) {
      const count = Math.min(BLOCK, slots.length - from);
      // Slot 0 stands in for slot -1, and makes an odd count even: its value is not used.
      others[count - 1 + (count % 2)] = placeOf(layout, 0);
      for (let at = 0; at < count; at += 1) others[at] = placeOf(layout, Math.max(0, slots[from + at] ?? 0));
      const end = layout.others + count * Uint32Array.BYTES_PER_ELEMENT;
      this.#dots(OWN, layout.others, end, layout.values, layout.vectorBytes);
      for (let at = 0; at < count; at += 1) {
        const slot = slots[from + at] ?? -1;
        found[from + at] = slot < 0 ? Number.NaN : (values[at] ?? 0) * own * (inverse[slot] ?? 0);
      }
    }
    return found;
  }

  /** Answers the inverse length. */
  #write(slot: number, bytes: Uint8Array): number {
    const place = placeOf(this.#layout, slot);
    const vector = new Uint8Array(this.#memory.buffer, place, this.dimension * Float32Array.BYTES_PER_ELEMENT);
    vector.set(bytes);
    return inverseLength(new Float32Array(this.#memory.buffer, place, this.dimension), 0, this.dimension);
  }

  /** By a quarter when it is full. */
  #reserve(vectors: number): void {
    const held = this.#memory.buffer.byteLength / VectorArray.PAGE_BYTES;
    const needed = pagesOf(this.#layout, vectors);
    if (needed <= held) return;
    const ample = Math.max(needed, Math.min(this.mostPages, Math.ceil(held * 1.25)));
    withRoom(() => this.#memory.grow(ample - held));
  }
}

/** Where memory is made or grows, a RangeError says that there is none: of addresses, of pages, or of what may be asked for. */
function withRoom<T>(work: () => T): T {
  try {
    return work();
  } catch (cause) {
    throw cause instanceof RangeError ? new NoRoom("There is no room for more vectors.", { cause }) : cause;
  }
}

/** Where things lie in a memory, in bytes. */
interface Layout {
  /** Addresses of the vectors of one call. */
  readonly others: number;
  readonly values: number;
  /** Slot 0. */
  readonly first: number;
  /** Of one vector, filled up. */
  readonly vectorBytes: number;
}

function layoutOf(dimension: number): Layout {
  const numbers = Math.ceil(dimension / LANES) * LANES;
  const others = OWN + numbers * Float64Array.BYTES_PER_ELEMENT;
  const values = others + BLOCK * Uint32Array.BYTES_PER_ELEMENT;
  const first = values + BLOCK * Float64Array.BYTES_PER_ELEMENT;
  return { others, values, first, vectorBytes: numbers * Float32Array.BYTES_PER_ELEMENT };
}

const placeOf = ({ first, vectorBytes }: Layout, slot: number): number => first + slot * vectorBytes;

const pagesOf = (layout: Layout, vectors: number): number =>
  Math.ceil(placeOf(layout, vectors) / VectorArray.PAGE_BYTES);
