import type { PayloadStore } from "#jobs";

/** For jobs whose payloads and results are small: nothing is ever kept by reference. */
export const NO_PAYLOADS: PayloadStore = {
  put: () => Promise.reject(new Error("The payloads of a benchmark are small.")),
  get: () => Promise.resolve(undefined),
  delete: () => Promise.resolve(),
};
