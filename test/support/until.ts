/** Longest that a test waits for something to become true. */
const PATIENCE_MS = 15_000;

/** Asks again until there is an answer. Throws what the last try threw, or that nothing came. */
export async function until<Value>(
  look: () => Promise<Value | undefined> | Value | undefined,
  patienceMs = PATIENCE_MS,
): Promise<Value> {
  const deadline = Date.now() + patienceMs;
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    if (Date.now() > deadline) throw new Error(`nothing came within ${patienceMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
