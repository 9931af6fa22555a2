import type { Embedding, EmbeddingModel } from "#scoring";

/** Multiplier and increment of a 32-bit linear congruential generator (Numerical Recipes). */
const MULTIPLIER = 1_664_525;
const INCREMENT = 1_013_904_223;
const MODULUS = 2 ** 32;

/**
 * Synthetic vectors: a unit vector that depends on the text only, thousands of times faster than a model. For benchmarks of
 * stores, where the meaning of the vectors does not matter.
 */
export function hashedModel(dimension: number): EmbeddingModel {
  return {
    id: `synthetic-${dimension}`,
    dimension,
    maxTokens: 512,
    countTokens: (text) => Math.ceil(text.length / 4),
    embed: async (texts) => texts.map((text): Embedding => ({ vector: unitVector(text, dimension), windowed: false })),
  };
}

/** A pseudo-random direction; equal texts give equal vectors. */
export function unitVector(text: string, dimension: number): Float32Array {
  let state = seedOf(text);
  const vector = new Float32Array(dimension);
  let squares = 0;
  for (let index = 0; index < dimension; index += 1) {
    state = (Math.imul(state, MULTIPLIER) + INCREMENT) >>> 0;
    const value = state / MODULUS - 0.5;
    vector[index] = value;
    squares += value * value;
  }
  const length = Math.sqrt(squares);
  return vector.map((value) => value / length);
}

/** FNV-1a of the UTF-16 units. */
function seedOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1)
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193) >>> 0;
  return hash;
}
