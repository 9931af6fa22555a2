import { Mutex } from "async-mutex";
import type { MemoryScope } from "#core";
import { throwIfAborted } from "#scoring";

/**
 * Writers of one memory take turns inside a process, in the order in which they came: the order of a conversation is the
 * order of arrival, and two change sets on one revision would only conflict. Across processes the store's revision check
 * decides. Memories do not wait for each other.
 */
export class WriteQueue {
  readonly #queues = new Map<string, { readonly mutex: Mutex; writers: number }>();

  /** Runs `work` when all earlier writers of the memory are done. An abort while waiting gives up the place. */
  async run<T>(scope: MemoryScope, signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
    throwIfAborted(signal);
    const name = `${scope.tenant}/${scope.memory}`;
    const queue = this.#queues.get(name) ?? { mutex: new Mutex(), writers: 0 };
    this.#queues.set(name, queue);
    queue.writers += 1;
    try {
      return await queue.mutex.runExclusive(async () => {
        throwIfAborted(signal);
        return work();
      });
    } finally {
      queue.writers -= 1;
      if (queue.writers === 0) this.#queues.delete(name);
    }
  }
}
