import { setTimeout as sleep } from "node:timers/promises";

/** The first pause and the longest one: a model that is back is used again within seconds. */
const FIRST_MS = 500;
const LONGEST_MS = 10_000;

/**
 * Back-pressure of a model or a store: who was told to come later keeps its slot for a while, so that a worker asks less,
 * fewer claims are made, and the backlog stays where it is safe. Pauses double while it lasts; half of each is random.
 */
export class Pressure {
  #pauses = 0;

  constructor(
    private readonly random: () => number,
    private readonly wait: (milliseconds: number, signal: AbortSignal) => Promise<void> = waitUnlessAborted,
  ) {}

  /** It was served: the next pause is a first one again. */
  relieve(): void {
    this.#pauses = 0;
  }

  /** Pauses, at most until the signal is aborted. */
  async pause(signal: AbortSignal): Promise<void> {
    const longest = Math.min(LONGEST_MS, FIRST_MS * 2 ** this.#pauses);
    this.#pauses += 1;
    await this.wait(longest * (0.5 + this.random() / 2), signal);
  }
}

async function waitUnlessAborted(milliseconds: number, signal: AbortSignal): Promise<void> {
  await sleep(milliseconds, undefined, { signal }).catch(() => undefined);
}
