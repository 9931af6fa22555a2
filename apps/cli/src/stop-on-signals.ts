import type { Logger } from "pino";

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** Exit codes of a stop: as asked; with an error; cut short by a second signal (128 + SIGINT, as shells do). */
const EXIT = { stopped: 0, failed: 1, forced: 130 } as const;

/** The first signal stops the process gracefully, the second at once (its exit handlers still run). */
export function stopOnSignals(options: { readonly stop: () => Promise<void>; readonly logger: Logger }): void {
  let stopping = false;
  const onSignal = (signal: NodeJS.Signals): void => {
    if (stopping) process.exit(EXIT.forced);
    stopping = true;
    options.logger.info({ signal }, "stopping");
    options.stop().then(
      () => {
        options.logger.info({ signal }, "stopped");
        process.exit(EXIT.stopped);
      },
      (error: unknown) => {
        options.logger.error({ err: error }, "the stop failed");
        process.exit(EXIT.failed);
      },
    );
  };
  for (const signal of SIGNALS) process.on(signal, onSignal);
}
