type Scalar = string | number;
/** What the parameters of a read are. */
export type ParameterValue = Scalar | readonly Readonly<Record<string, Scalar>>[];

/** What a statement is put together from: parameters have names, and equal values share one. */
export class Parameters {
  readonly values: Record<string, ParameterValue>;
  readonly #names = new Map<Scalar, string>();

  constructor(values: Readonly<Record<string, ParameterValue>>) {
    this.values = { ...values };
  }

  /** The placeholder of a text, or of a number as a float. */
  bind(value: Scalar): string {
    const known = this.#names.get(value);
    if (known !== undefined) return known;
    const name = `p${this.#names.size}`;
    this.values[name] = value;
    this.#names.set(value, `$${name}`);
    return `$${name}`;
  }

  /** A whole number as an integer. Larger ones than JavaScript knows are the largest. */
  bindInteger(value: number): string {
    return `toInteger(${this.bind(Math.min(value, Number.MAX_SAFE_INTEGER))})`;
  }
}
