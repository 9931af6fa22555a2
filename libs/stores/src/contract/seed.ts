import fc from "fast-check";

/** The seed of this run: `PROPERTY_SEED` repeats one that a failure printed. */
const seed = Number(process.env["PROPERTY_SEED"] ?? Math.floor(Math.random() * 0x7fffffff));

/** Checks a property over random cases; a failure prints the seed and the smallest case that was found. */
export async function holdsFor<T>(
  runs: number,
  arbitrary: fc.Arbitrary<T>,
  property: (value: T) => Promise<void>,
): Promise<void> {
  await fc.assert(fc.asyncProperty(arbitrary, property), {
    seed,
    numRuns: runs,
    reporter: (details) => {
      if (!details.failed) return;
      const report = `PROPERTY_SEED=${seed}\n${fc.defaultReportMessage(details) ?? ""}`;
      throw new Error(report, { cause: details.errorInstance });
    },
  });
}
