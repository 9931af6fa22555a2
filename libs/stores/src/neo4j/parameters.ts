type Scalar = string | number;
/** What the parameters of a read are. */
export type ParameterValue = Scalar | readonly Readonly<Record<string, Scalar>>[];

/** What a statement is put together from. Values do not share a name when they are equal: the text would depend on them. */
export class Parameters {
  readonly values: Record<string, ParameterValue>;
  #count = 0;

  constructor(values: Readonly<Record<string, ParameterValue>>) {
    this.values = { ...values };
  }

  /** The placeholder of a text, or of a number as a float. */
  bind(value: Scalar): string {
    const name = `p${this.#count}`;
    this.#count += 1;
    this.values[name] = value;
    return `$${name}`;
  }

  /** A whole number as an integer. Larger ones than JavaScript knows are the largest. */
  bindInteger(value: number): string {
    return `toInteger(${this.bind(Math.min(value, Number.MAX_SAFE_INTEGER))})`;
  }
}
