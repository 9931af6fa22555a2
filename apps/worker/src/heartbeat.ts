/**
 * A child's sign of life over the channel that it was forked with: it says so every few seconds, from its event loop. A
 * parent that hears nothing for long knows that the loop hangs, which a process that merely runs does not show.
 */
import type { Serializable } from "node:child_process";

/** How often a child speaks, and after how long a silence its parent gives it up. */
export interface Heartbeat {
  readonly everyMs: number;
  readonly silenceMs: number;
}

/** A long commit or a collection of garbage keeps a loop busy for seconds, a hang for ever: the limit is far from both. */
export const WORKER_HEARTBEAT: Heartbeat = { everyMs: 5_000, silenceMs: 60_000 };

/** One end of a channel: `process` inside a child. */
export interface BeatingEnd {
  readonly connected?: boolean;
  send?(message: Serializable): unknown;
}

/** Beats from now on, for as long as the process lives. Does not keep it alive. */
export function beat(channel: BeatingEnd, { everyMs }: Heartbeat): void {
  setInterval(() => {
    if (channel.connected === true) channel.send?.({ type: "alive" });
  }, everyMs).unref();
}

/** The other end: a `ChildProcess`. */
export interface WatchedEnd {
  on(event: "message", listener: () => void): unknown;
  once(event: "exit", listener: () => void): unknown;
}

/**
 * Calls `onSilence` once when a child has said nothing for too long. Silence is counted in beats that this process saw go
 * by, so that its own pauses (a busy loop, a suspended machine) are no silence of the child.
 */
export function watchHeartbeat(child: WatchedEnd, { everyMs, silenceMs }: Heartbeat, onSilence: () => void): void {
  let missed = 0;
  const timer = setInterval(() => {
    missed += 1;
    if (missed * everyMs < silenceMs) return;
    clearInterval(timer);
    onSilence();
  }, everyMs);
  timer.unref();
  child.on("message", () => {
    missed = 0;
  });
  child.once("exit", () => {
    clearInterval(timer);
  });
}
