import type { StateRef } from "#scoring";
import type { Memory } from "../memory.js";
import type { QueryWarning } from "../results.js";

/** Collects the texts that the model refuses among those that a query scores: they count as 0, and the caller should know. */
export class RefusedTexts {
  readonly #names = new Set<string>();

  add(field: string, states: readonly StateRef[]): void {
    for (const { id, born } of states) this.#names.add(JSON.stringify([field, id, born]));
  }

  /** One warning for all of them, or none. */
  warnings({ embeddingModel }: Pick<Memory, "embeddingModel">): readonly QueryWarning[] {
    const { size } = this.#names;
    if (size === 0) return [];
    const texts = size === 1 ? "1 text" : `${size} texts`;
    const message = `${texts} could not be embedded, for ${embeddingModel} refuses ${size === 1 ? "it" : "them"}: the similarity counts as 0.`;
    return [{ code: "texts_not_embedded", message }];
  }
}
