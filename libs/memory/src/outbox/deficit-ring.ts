/** How a turn at the ring went. */
interface Served {
  /** Tokens that were taken; over the allowance by at most one row's. */
  readonly tokens: number;
  /** Whether nothing was left to take. */
  readonly drained: boolean;
}

/**
 * Deficit round robin (Shreedhar and Varghese, 1995): whoever has work waits in a ring. When its turn comes its deficit
 * grows by the quantum times its weight, and it may take so many tokens; what it took too much is its debt, what it had to
 * leave because the caller wanted no more it may take when the caller comes back. Over time all that always have work get
 * tokens in proportion to their weights, whatever the sizes of their rows. O(1) a turn but for debts, which are paid off by
 * passing.
 */
export class DeficitRing {
  readonly #quantum: number;
  readonly #weightOf: (name: string) => number;
  /** In the order of their turns; the first one's began when `#begun`. */
  #ring: string[] = [];
  #begun = false;
  readonly #deficits = new Map<string, number>();

  constructor(quantum: number, weightOf: (name: string) => number) {
    this.#quantum = quantum;
    this.#weightOf = weightOf;
  }

  /** Those who have work now. New ones come last; those without lose their deficits. */
  sync(names: readonly string[]): void {
    const present = new Set(names);
    if (this.#ring[0] !== undefined && !present.has(this.#ring[0])) this.#begun = false;
    for (const name of this.#ring) if (!present.has(name)) this.#deficits.delete(name);
    const known = new Set(this.#ring);
    this.#ring = [...this.#ring.filter((name) => present.has(name)), ...names.filter((name) => !known.has(name))];
  }

  /** Whose turn it is, and how many tokens it may take; nobody's if the ring is empty. */
  turn(): { readonly name: string; readonly allowance: number } | undefined {
    for (;;) {
      const [name] = this.#ring;
      if (name === undefined) return undefined;
      if (!this.#begun) {
        this.#begun = true;
        this.#deficits.set(name, (this.#deficits.get(name) ?? 0) + this.#quantum * this.#weightOf(name));
      }
      const allowance = this.#deficits.get(name) ?? 0;
      if (allowance > 0) return { name, allowance };
      this.#pass();
    }
  }

  /** What the one whose turn it was took. Its turn goes on if it may take more. */
  served({ tokens, drained }: Served): void {
    const [name] = this.#ring;
    if (name === undefined) return;
    const deficit = (this.#deficits.get(name) ?? 0) - tokens;
    this.#deficits.set(name, deficit);
    if (drained) {
      this.#deficits.delete(name);
      this.#ring.shift();
      this.#begun = false;
    } else if (deficit <= 0) this.#pass();
  }

  #pass(): void {
    const name = this.#ring.shift();
    if (name !== undefined) this.#ring.push(name);
    this.#begun = false;
  }
}
