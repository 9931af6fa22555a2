import type { MemoryScope } from "#core";
import type { StateRef } from "#scoring";

/**
 * What a store wrote of a memory, written again over the engine's own driver, as one would without a store: rows that are
 * ready, into the same tables, labels or collection with the same indexes, in transactions and requests of the store's size.
 * Reading what the store wrote is outside the time that is taken. Only one memory is copied at a time.
 */
export interface CopyByHand {
  /** Writes what the store's last change set wrote, and answers how many milliseconds that took. */
  writeChange(revision: number): Promise<number>;
  /** As `writeChange`, of the vectors of items; with them goes what said that they were wanted. */
  writePoints(items: readonly StateRef[]): Promise<number>;
  /** Asked once the tree is written, and once the vectors are. @throws Error if the copy has not as much of everything as the store */
  check(): Promise<void>;
  remove(): Promise<void>;
}

/** Milliseconds that the same took through a store and by hand. */
export interface Times {
  readonly own: number;
  readonly byHand: number;
}

/** Begins the copy of a memory that is empty. */
export type BeginCopy = (scope: MemoryScope) => Promise<CopyByHand>;

/** @throws Error naming what there is not the same number of */
export function checkCounts(own: ReadonlyMap<string, number>, byHand: ReadonlyMap<string, number>): void {
  for (const [name, count] of own) {
    const found = byHand.get(name) ?? 0;
    if (found !== count) throw new Error(`The store wrote ${count} of ${name}, by hand there are ${found}.`);
  }
}
