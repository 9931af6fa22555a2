import type { Embedding, EmbeddingModel } from "#scoring";

const DIMENSION = 64;

/**
 * An embedding model for tests: words hashed into a small vector, so that texts with common words are near. It counts what
 * it was asked and can be told to fail.
 */
export class BagOfWordsModel implements EmbeddingModel {
  readonly dimension = DIMENSION;
  readonly maxTokens = 512;
  /** Every text embedded, in order. */
  readonly asked: string[] = [];
  /** Thrown by the next calls while set. */
  failure: Error | undefined;

  constructor(readonly id = "bag-of-words") {}

  countTokens(text: string): number {
    return words(text).length;
  }

  async embed(texts: readonly string[]): Promise<readonly Embedding[]> {
    if (this.failure !== undefined) throw this.failure;
    this.asked.push(...texts);
    return texts.map((text) => ({ vector: this.#vectorOf(text), windowed: false }));
  }

  #vectorOf(text: string): Float32Array {
    const vector = new Float32Array(DIMENSION);
    // The constant keeps a text without words from being a vector of zeros.
    vector[0] = 0.1;
    for (const word of words(text)) {
      const at = 1 + (hash(this.id + word) % (DIMENSION - 1));
      vector[at] = (vector[at] ?? 0) + 1;
    }
    const length = Math.hypot(...vector);
    return vector.map((value) => value / length);
  }
}

function words(text: string): readonly string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
}

/** FNV-1a. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) {
    value = Math.imul(value ^ text.charCodeAt(index), 0x01000193) >>> 0;
  }
  return value;
}
