export { checkHandlers, type NamedHandler } from "./check-handlers.js";
export { createJobClient, type JobClientOptions, type QueueAges } from "./job-client.js";
export { JOB_KINDS, JOB_NAMES, type JobName } from "./job-names.js";
export { startJobWorkers, type JobWorkers, type JobWorkersOptions, type StopLimits } from "./job-workers.js";
export * from "./payloads.js";
export { requeueActive } from "./requeue-active.js";
export type { RunOutcome, RunReport } from "./run-job.js";
export { JOB_SETTINGS, QUEUE_SETTINGS, type JobSettings, type QueueSettings } from "./settings.js";
export type * from "./types.js";
