import type { Redis } from "ioredis";
import { LIMITS } from "#core";
import type { JobEnding } from "./record.js";

/**
 * - `end`: the job has ended; `ending` when it was small enough to travel.
 * - `event`: its event stream has something new.
 * - `poll`: time to look for oneself, in case a wake-up was lost.
 */
export type Wake =
  { readonly kind: "end"; readonly ending?: JobEnding } | { readonly kind: "event" } | { readonly kind: "poll" };

export type WakeListener = (wake: Wake) => void;

/**
 * The waiters of one process: one subscription for all of its jobs. A waiter registers before it reads the status, so that
 * an end between the two is not missed. After a new connection all are told to look for themselves, and every `pollMs` some
 * of them, in turns.
 */
export class Waiters {
  readonly #listeners = new Map<string, Set<WakeListener>>();
  readonly #subscriber: Redis;
  readonly #poll: NodeJS.Timeout;
  /** Whose turn it is to look for themselves. */
  #turn: Iterator<Set<WakeListener>> = [].values();

  constructor(subscriber: Redis, channel: string, pollMs: number) {
    this.#subscriber = subscriber;
    subscriber.on("message", (_channel: string, message: string) => {
      this.#receive(message);
    });
    subscriber.on("ready", () => {
      this.#pollAll();
    });
    subscriber.subscribe(channel).catch(() => {
      // Closed before the first connection; a lost one subscribes again by itself.
    });
    this.#poll = setInterval(() => {
      this.#pollSome();
    }, pollMs);
    this.#poll.unref();
  }

  /** Calls the listener on every wake-up about the job until the returned function is called. */
  register(token: string, listener: WakeListener): () => void {
    const listeners = this.#listeners.get(token) ?? new Set();
    listeners.add(listener);
    this.#listeners.set(token, listeners);
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0 && this.#listeners.get(token) === listeners) this.#listeners.delete(token);
    };
  }

  close(): void {
    clearInterval(this.#poll);
    this.#subscriber.disconnect();
  }

  /** Messages are `event <token>` or `end <token> <JSON of the ending, or nothing>`. */
  #receive(message: string): void {
    const [kind, token] = message.split(" ", 2);
    const listeners = this.#listeners.get(token ?? "");
    if (listeners === undefined) return;
    const text = message.slice(`${kind ?? ""} ${token ?? ""} `.length);
    const wake: Wake =
      kind === "end" ? { kind, ...(text !== "" && { ending: JSON.parse(text) as JobEnding }) } : { kind: "event" };
    for (const listener of [...listeners]) listener(wake);
  }

  #pollSome(): void {
    const most = Math.min(LIMITS.polledWaiters, this.#listeners.size);
    for (let polled = 0; polled < most; polled += 1) {
      let next = this.#turn.next();
      if (next.done === true) {
        this.#turn = this.#listeners.values();
        next = this.#turn.next();
      }
      if (next.done !== true) for (const listener of [...next.value]) listener({ kind: "poll" });
    }
  }

  #pollAll(): void {
    for (const listeners of this.#listeners.values()) for (const listener of [...listeners]) listener({ kind: "poll" });
  }
}
