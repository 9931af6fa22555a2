import { toEspalierError, type EspalierError } from "#core";

/** Whether there may be more to do at once. */
export type LoopTurn = "more" | "done";

export interface LoopOptions {
  /** Time between two turns; each pause is between half and one and a half of it, so that processes do not march in step. */
  readonly everyMs: number;
  readonly turn: () => Promise<LoopTurn>;
  /** Hears of a turn that failed; the next one makes up for it. */
  readonly onError: (error: EspalierError) => void;
  /** In [0, 1). */
  readonly random: () => number;
}

/** Work that a process does again and again beside its jobs. */
export interface Loop {
  /** There is something to do: the next turn begins as soon as the one under way is over. */
  wake(): void;
  /** No turn begins any more; resolves when the one under way is over. */
  stop(): Promise<void>;
}

/**
 * Runs turns, one at a time, the first at once. After a turn that failed there is a pause, also when there would be more to
 * do: what failed is likely to fail again.
 */
export function startLoop({ everyMs, turn, onError, random }: LoopOptions): Loop {
  const state = { woken: false, stopped: false };
  let rest = Promise.withResolvers<undefined>();
  const pause = async (): Promise<void> => {
    if (state.stopped) return;
    rest = Promise.withResolvers();
    const timer = setTimeout(rest.resolve, everyMs * (0.5 + random()), undefined);
    await rest.promise;
    clearTimeout(timer);
  };
  const run = async (): Promise<void> => {
    while (!state.stopped) {
      state.woken = false;
      const outcome = await turn().catch((error: unknown): "failed" => {
        onError(toEspalierError(error));
        return "failed";
      });
      const goesOn = outcome === "more" || (outcome === "done" && state.woken);
      if (!goesOn) await pause();
    }
  };
  const running = run();
  return {
    wake: () => {
      state.woken = true;
      rest.resolve(undefined);
    },
    stop: async () => {
      state.stopped = true;
      rest.resolve(undefined);
      await running;
    },
  };
}
