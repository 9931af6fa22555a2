/** Does something now and then, one at a time, at a pace that is a little random, until it is stopped. */
export class Sweeper {
  readonly #sweep: () => Promise<void>;
  readonly #paceMs: number;
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;

  /** @param sweep a failure is made up for by the next */
  constructor(sweep: () => Promise<void>, paceMs: number) {
    this.#sweep = sweep;
    this.#paceMs = paceMs;
    this.#plan();
  }

  /** No sweep begins any more; one under way ends by itself. */
  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
  }

  #plan(): void {
    if (this.#stopped) return;
    // Many processes sweep: half of the pace is random, so that they do not do it at once.
    this.#timer = setTimeout(
      () => {
        void this.#sweep()
          .catch(ignore)
          .finally(() => {
            this.#plan();
          });
      },
      this.#paceMs * (0.75 + Math.random() / 2),
    );
    this.#timer.unref();
  }
}

function ignore(): void {
  // The next sweep does what this one could not.
}
