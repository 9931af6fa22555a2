import { Mutex, type MutexInterface } from "async-mutex";
import type { MemoryScope } from "#core";
import { abortError, throwIfAborted } from "#scoring";

/**
 * Writers of one memory take turns inside a process, in the order in which they came: the order of a conversation is the
 * order of arrival, and two change sets on one revision would only conflict. Across processes the store's revision check
 * decides. Memories do not wait for each other.
 */
export class WriteQueue {
  readonly #queues = new Map<string, { readonly mutex: Mutex; writers: number }>();

  /**
   * Runs `work` when all earlier writers of the memory are done.
   * @throws EspalierError at once when the signal is aborted while waiting (the signal's own reason, or `cancelled`)
   */
  async run<T>(scope: MemoryScope, signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
    throwIfAborted(signal);
    const name = `${scope.tenant}/${scope.memory}`;
    const queue = this.#queues.get(name) ?? { mutex: new Mutex(), writers: 0 };
    this.#queues.set(name, queue);
    queue.writers += 1;
    const turn = queue.mutex.acquire();
    const leave = (release: MutexInterface.Releaser): void => {
      release();
      queue.writers -= 1;
      if (queue.writers === 0) this.#queues.delete(name);
    };
    try {
      await waitFor(turn, signal);
      return await work();
    } finally {
      // One who gave up still has a turn to pass on.
      void turn.then(leave);
    }
  }
}

/** Settles with the turn, or earlier with the signal's error. */
async function waitFor(turn: Promise<unknown>, signal: AbortSignal | undefined): Promise<void> {
  if (signal === undefined) {
    await turn;
    return;
  }
  const { promise, reject } = Promise.withResolvers<never>();
  const giveUp = (): void => {
    reject(abortError(signal));
  };
  signal.addEventListener("abort", giveUp, { once: true });
  try {
    await Promise.race([turn, promise]);
  } finally {
    signal.removeEventListener("abort", giveUp);
  }
}
