/** What one check of `doctor` found. */
export interface Finding {
  /** What was checked, in one or two words. */
  readonly check: string;
  /** `skipped`: there is nothing to check in this installation. */
  readonly state: "ok" | "failed" | "skipped";
  /** What was found, and if it failed what to do. */
  readonly detail: string;
}

/** Runs a check; whatever it throws is a failure of that check alone. */
export async function find(check: string, look: () => Promise<Omit<Finding, "check">>): Promise<Finding> {
  try {
    return { check, ...(await look()) };
  } catch (error) {
    return { check, state: "failed", detail: error instanceof Error ? error.message : String(error) };
  }
}

/** A check that found what it wants. */
export const ok = (detail: string): Omit<Finding, "check"> => ({ state: "ok", detail });

/** A check that found something wrong; the detail says what to do. */
export const failed = (detail: string): Omit<Finding, "check"> => ({ state: "failed", detail });

/** A check without anything to look at. */
export const skipped = (detail: string): Omit<Finding, "check"> => ({ state: "skipped", detail });
