import { EspalierError } from "#core";
import type { Embedding } from "./ports.js";

/**
 * Refuses what no vector store should ever see; answers its argument. O(numbers).
 * @throws `model_bad_output` (another number of vectors, a value that is not finite, a vector of zeros) or
 * `model_dimension`, naming the model, the index and what is wrong.
 */
export function checkEmbeddings(
  embeddings: readonly Embedding[],
  expected: { readonly model: string; readonly dimension: number; readonly count: number },
): readonly Embedding[] {
  const { model, dimension, count } = expected;
  const refuse = (
    code: "model_bad_output" | "model_dimension",
    what: string,
    details: Record<string, unknown>,
  ): never => {
    throw new EspalierError(code, `The model ${model} answered ${what}.`, { details: { model, ...details } });
  };
  if (embeddings.length !== count) {
    refuse("model_bad_output", `${embeddings.length} vectors for ${count} texts`, {
      expected: count,
      received: embeddings.length,
    });
  }
  for (const [index, { vector }] of embeddings.entries()) {
    if (vector.length !== dimension) {
      refuse("model_dimension", `a vector of ${vector.length} numbers at index ${index}, expected ${dimension}`, {
        index,
        expected: dimension,
        received: vector.length,
      });
    }
    const at = vector.findIndex((value) => !Number.isFinite(value));
    if (at >= 0)
      refuse("model_bad_output", `${vector[at]} at position ${at} of the vector at index ${index}`, { index });
    if (vector.every((value) => value === 0)) {
      refuse("model_bad_output", `a vector of zeros at index ${index}`, { index });
    }
  }
  return embeddings;
}
