import { setTimeout as pause } from "node:timers/promises";
import type { Job } from "bullmq";

/** How long a job stays away at most that was refused its last run: the process that was to call it up has died. */
const AWAY_MS = 15_000;

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
  readonly #away: Job[] = [];

  constructor(private readonly quietMs: number) {}

  /** True for one caller at a time. */
  begin(): boolean {
    if (this.#busy) return false;
    this.#busy = true;
    return true;
  }

  /** Resolves when those that were taken together with this one are given back. Each is refused once, so there is an end. */
  async alone(): Promise<void> {
    for (let seen = -1; seen !== this.#refusals || this.#leaving > 0;) {
      seen = this.#refusals;
      await pause(this.quietMs);
    }
  }

  /** Gives a job back for as long as the other one runs. */
  async refuse(job: Job, token: string, now: number): Promise<void> {
    this.#refusals += 1;
    this.#leaving += 1;
    try {
      await job.moveToDelayed(now + AWAY_MS, token);
      this.#away.push(job);
    } finally {
      this.#leaving -= 1;
    }
    if (!this.#busy) this.#callUp();
  }

  end(): void {
    this.#busy = false;
    this.#callUp();
  }

  /** One that another has called up, or that was cancelled, is not there to be; while Redis is away it comes by itself. */
  #callUp(): void {
    for (const job of this.#away.splice(0)) void job.promote().catch(() => undefined);
  }
}
