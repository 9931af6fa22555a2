/** What a handler answers whose effects are stored while others still work on what belongs to them. */
export class Held {
  constructor(readonly result: unknown) {}
}

/**
 * Ends a run without ending its job: the slot is free, the job stays `active` until somebody releases it (`HeldJobs`), and
 * completes then with this result. Only for effects that are committed: a held job cannot be cancelled.
 */
export function held(result: unknown): Held {
  return new Held(result);
}
