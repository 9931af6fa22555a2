import { EspalierError, roundRelevance } from "#core";

/** Values of every Local by node index; NaN is not known. Rounded to 1e-6 as they come in, before any arithmetic. */
export class LocalValues {
  readonly #values: Float64Array[];

  constructor(locals: number) {
    this.#values = Array.from({ length: locals }, () => new Float64Array(0));
  }

  /** Values of one Local, with room for `size` nodes. */
  of(local: number, size: number): Float64Array {
    const known = this.#values[local];
    if (known !== undefined && known.length >= size) return known;
    const grown = new Float64Array(size).fill(Number.NaN);
    if (known !== undefined) grown.set(known);
    this.#values[local] = grown;
    return grown;
  }

  /** Keeps what a scorer answered for the nodes. */
  keep(local: number, nodes: Int32Array, answered: Float64Array, size: number): void {
    const values = this.of(local, size);
    if (answered.length !== nodes.length) {
      throw new EspalierError("model_bad_output", `A scorer answered ${answered.length} values for ${nodes.length}.`);
    }
    for (let at = 0; at < nodes.length; at++) {
      const value = roundRelevance(answered[at] ?? Number.NaN);
      if (Number.isNaN(value)) throw new EspalierError("model_bad_output", "A scorer answered no number.");
      values[nodes[at] ?? 0] = Math.min(1, Math.max(0, value));
    }
  }
}
