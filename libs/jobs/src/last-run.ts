/**
 * The last run that a job may have (it was taken over from dead workers as often as it may be) is alone of its kind in a
 * process: of the jobs that died together again and again, the one that kills its workers dies by itself, and those that
 * only were beside it end.
 */
export class LastRun {
  #busy = false;

  /** True for one caller at a time. */
  begin(): boolean {
    if (this.#busy) return false;
    this.#busy = true;
    return true;
  }

  end(): void {
    this.#busy = false;
  }
}
