import { EspalierError } from "#core";
import type { RunStatus } from "./job-status.js";

/** The status of a job that belongs to no tenant: every transition is allowed and leaves nothing. */
export const NO_STATUS: RunStatus = {
  start: async () => "run",
  progress: async () => false,
  retry: async () => true,
  finish: async () => true,
  hold: () => Promise.reject(new EspalierError("internal", "A job that belongs to nobody cannot be held.")),
};
