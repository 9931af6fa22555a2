import { setTimeout as pause } from "node:timers/promises";
import type { Job } from "bullmq";
import type { JobSettings } from "./settings.js";

/** Times that a last run looks whether others still are refused: then it begins, for they cannot be this process's alone. */
const LOOKS = 20;

/**
 * The last run that a job may have (it was taken over from dead workers as often as it may be) is alone of its kind in a
 * process: of the jobs that died together again and again, the one that kills its workers dies by itself, and those that
 * only were beside it end. They stay away until it is over: whatever this process has at its death was taken over once more.
 */
export class LastRun {
  #busy = false;
  #refusals = 0;
  /** Jobs that are being given back. */
  #leaving = 0;
  /** Those that were, by id: they are delayed, and no other worker has them before their time. */
  readonly #away = new Map<string, Job>();
  #keeping: NodeJS.Timeout | undefined;

  constructor(private readonly settings: JobSettings["lastRun"]) {}

  /** True for one caller at a time. */
  begin(): boolean {
    if (this.#busy) return false;
    this.#busy = true;
    this.#keeping = setInterval(() => {
      this.#keepAway();
    }, this.settings.awayMs / 3);
    // A run that was left behind at a stop never ends.
    this.#keeping.unref();
    return true;
  }

  /** Resolves when those that were taken together with this one are given back. */
  async alone(): Promise<void> {
    for (let look = 0, seen = -1; look < LOOKS && (seen !== this.#refusals || this.#leaving > 0); look += 1) {
      seen = this.#refusals;
      await pause(this.settings.quietMs);
    }
  }

  /** Gives a job back for as long as the other one runs. */
  async refuse(job: Job, token: string, now: number): Promise<void> {
    this.#refusals += 1;
    this.#leaving += 1;
    try {
      await job.moveToDelayed(now + this.settings.awayMs, token);
      if (job.id !== undefined) this.#away.set(job.id, job);
    } finally {
      this.#leaving -= 1;
    }
    if (!this.#busy) this.#callUp();
  }

  end(): void {
    this.#busy = false;
    clearInterval(this.#keeping);
    this.#callUp();
  }

  /** One that is not delayed any more was cancelled, or came by itself while Redis could not be told: it is no longer ours. */
  #keepAway(): void {
    for (const [id, job] of this.#away) job.changeDelay(this.settings.awayMs).catch(() => this.#away.delete(id));
  }

  #callUp(): void {
    for (const job of this.#away.values()) void job.promote().catch(() => undefined);
    this.#away.clear();
  }
}
