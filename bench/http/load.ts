/** What a load found. */
export interface LoadResult {
  /** Of each call that succeeded, in milliseconds. */
  readonly milliseconds: readonly number[];
  readonly errors: number;
  readonly perSecond: number;
}

/** Calls `call` `count` times, always `concurrency` at once (a closed loop). A rejected call is an error. */
export async function load(
  call: () => Promise<unknown>,
  options: { readonly concurrency: number; readonly count: number },
): Promise<LoadResult> {
  const milliseconds: number[] = [];
  let left = options.count;
  let errors = 0;
  const started = performance.now();
  const lane = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      const begun = performance.now();
      try {
        await call();
        milliseconds.push(performance.now() - begun);
      } catch {
        errors += 1;
      }
    }
  };
  await Promise.all(Array.from({ length: options.concurrency }, lane));
  const seconds = (performance.now() - started) / 1_000;
  return { milliseconds, errors, perSecond: Math.round(options.count / seconds) };
}
