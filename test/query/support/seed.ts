import fc from "fast-check";

/** The seed of this run: `PROPERTY_SEED` repeats one that a failure printed. */
const seed = Number(process.env["PROPERTY_SEED"] ?? Math.floor(Math.random() * 0x7fffffff));

/** `PROPERTY_PATH` goes straight to the smallest case that a failure printed with its seed. */
const path = process.env["PROPERTY_PATH"];

/** Checks a property over `runs` random cases. A failure prints the seed and the smallest case that was found. */
export async function holdsFor<T>(
  runs: number,
  arbitrary: fc.Arbitrary<T>,
  property: (value: T) => void | Promise<void>,
): Promise<void> {
  await fc.assert(
    fc.asyncProperty(arbitrary, async (value) => property(value)),
    {
      seed,
      numRuns: runs,
      ...(path !== undefined && { path, endOnFailure: true }),
      reporter: (details) => {
        if (!details.failed) return;
        const report = `PROPERTY_SEED=${seed}\n${fc.defaultReportMessage(details) ?? ""}`;
        throw new Error(report, { cause: details.errorInstance });
      },
    },
  );
}
