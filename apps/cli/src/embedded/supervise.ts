import type { ChildProcess } from "node:child_process";
import { setTimeout as pause } from "node:timers/promises";
import type { Logger } from "pino";
import { watchHeartbeat, type Heartbeat } from "../../../worker/src/heartbeat.js";
import { CommandError } from "../command-error.js";
import { signal } from "./processes.js";

/**
 * Keeps one child process running: starting -> ready -> (ended by itself, or killed for its silence) -> pause -> starting …,
 * until `stop`. The pause doubles with every end that follows soon, so that a child that cannot live does not burn the
 * machine.
 */
export interface ChildPlan {
  /** For the log. */
  readonly name: string;
  /** Starts the process. */
  spawn(): ChildProcess;
  /** Resolves when the child does its work; rejects if it never will. */
  ready(child: ChildProcess): Promise<void>;
  /** Before a start that follows an end: what the dead child left to be done. */
  beforeRestart(): Promise<void>;
  /** What ends it at once without harm. */
  readonly killSignal: "SIGKILL" | "SIGTERM";
  /** Absent: a child that runs is taken to work. */
  readonly heartbeat?: Heartbeat;
}

export interface Supervised {
  /** Resolves when the first start is ready; rejects if it failed (then it is not tried again). */
  readonly firstReady: Promise<void>;
  /** The child that runs now. */
  current(): ChildProcess | undefined;
  /** SIGTERM, then SIGKILL after `graceMs`; resolves when the child is gone. */
  stop(graceMs: number): Promise<void>;
  /** Sends the plan's kill signal and forgets the child. */
  kill(): void;
}

const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 10_000;
/** A child that lived so long was healthy: the next pause is the first one again. */
const HEALTHY_MS = 30_000;

export function supervise(plan: ChildPlan, logger: Logger): Supervised {
  let child: ChildProcess | undefined;
  let gone = Promise.resolve();
  const stopping = new AbortController();
  const isStopping = (): boolean => stopping.signal.aborted;

  const start = async (): Promise<void> => {
    const started = plan.spawn();
    child = started;
    gone = endOf(started).then((how) => {
      child = undefined;
      if (!isStopping()) logger.error({ child: plan.name, childPid: started.pid, how }, "child process ended");
    });
    await Promise.race([
      plan.ready(started),
      gone.then(() => {
        throw new CommandError(`The process ${plan.name} ended before it was ready: its log above says why.`);
      }),
    ]);
    logger.info({ child: plan.name, childPid: started.pid }, "child process ready");
    if (plan.heartbeat !== undefined) {
      watchHeartbeat(started, plan.heartbeat, () => {
        logger.error({ child: plan.name, childPid: started.pid }, "child process hangs: killing it");
        // It hears no gentler signal.
        started.kill("SIGKILL");
      });
    }
  };

  const keep = async (): Promise<void> => {
    let pauseMs = FIRST_PAUSE_MS;
    while (!isStopping()) {
      const since = performance.now();
      await gone;
      if (performance.now() - since > HEALTHY_MS) pauseMs = FIRST_PAUSE_MS;
      await pause(pauseMs, undefined, { signal: stopping.signal }).catch(() => undefined);
      if (isStopping()) return;
      pauseMs = Math.min(LONGEST_PAUSE_MS, pauseMs * 2);
      try {
        await plan.beforeRestart();
        await start();
      } catch (error) {
        logger.error({ err: error, child: plan.name }, "child process did not start");
        child?.kill("SIGKILL");
      }
    }
  };

  const firstReady = start();
  firstReady.then(keep, () => undefined);
  return {
    firstReady,
    current: () => child,
    stop: async (graceMs) => {
      stopping.abort();
      if (child?.pid === undefined) return;
      const { pid } = child;
      signal(pid, "SIGTERM");
      const timer = setTimeout(() => {
        signal(pid, "SIGKILL");
      }, graceMs);
      await gone;
      clearTimeout(timer);
    },
    kill: () => {
      stopping.abort();
      child?.kill(plan.killSignal);
    },
  };
}

/** How a child ended: its exit code, signal, or why it could not be started. */
function endOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    child.once("error", (error) => {
      resolve(error.message);
    });
    child.once("exit", (code, name) => {
      resolve(name ?? `exit code ${code}`);
    });
  });
}
