import { int, type Integer } from "neo4j-driver";

type Scalar = string | number | Integer;
/** What the parameters of a read are. */
export type ParameterValue = Scalar | readonly Scalar[] | readonly Readonly<Record<string, Scalar>>[];

/** What a statement is put together from: parameters have names, and equal values share one. */
export class Parameters {
  readonly values: Record<string, ParameterValue>;
  readonly #names = new Map<string, string>();

  constructor(values: Readonly<Record<string, ParameterValue>>) {
    this.values = { ...values };
  }

  /** The placeholder of a text, or of a number as a float. */
  bind(value: string | number): string {
    return this.#bind(`${typeof value} ${value}`, value);
  }

  /** The placeholder of a whole number, as an integer. */
  bindInteger(value: number): string {
    return this.#bind(`integer ${value}`, int(value));
  }

  #bind(key: string, value: Scalar): string {
    const known = this.#names.get(key);
    if (known !== undefined) return known;
    const name = `p${this.#names.size}`;
    this.values[name] = value;
    this.#names.set(key, `$${name}`);
    return `$${name}`;
  }
}
