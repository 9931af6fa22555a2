/**
 * Delay after the n-th failure in a row, n from 1: exponential up to a longest one, the upper half of it random, so that what
 * failed together does not come back together.
 * @param random in [0, 1)
 * @returns whole milliseconds
 */
export function backOffMs(
  { baseMs, maxMs }: { readonly baseMs: number; readonly maxMs: number },
  failures: number,
  random: number,
): number {
  const delayMs = Math.min(maxMs, baseMs * 2 ** (failures - 1));
  return Math.round(delayMs / 2 + (delayMs / 2) * random);
}
