export { createAccessNews, type AccessNews } from "./access/access-news.js";
export { createBackground, type Background } from "./background/create-background.js";
export type { RowBatches, ScoreLoad } from "./background/row-batches.js";
export type { Sweeps, SweepState } from "./background/sweeps.js";
export { checkHandlers, type NamedHandler } from "./check-handlers.js";
export type { JobData } from "./job-data.js";
export { held } from "./held/held.js";
export type { HeldJob, HeldJobs, ReleaseOutcome } from "./held/held-jobs.js";
export { createJobClient, type JobClientOptions, type QueueAges } from "./job-client.js";
export { JOB_KINDS, JOB_NAMES, queuesOf, type JobName } from "./job-names.js";
export { startJobWorkers, type JobWorkers, type JobWorkersOptions, type StopLimits } from "./job-workers.js";
export {
  createRequestLimiter,
  type RequestLimit,
  type RequestLimiter,
  type RequestTaken,
} from "./limits/request-limiter.js";
export * from "./payloads.js";
export { createQueueViews, type QueueViews } from "./queue-views.js";
export { connectRedis } from "./redis.js";
export { requeueActive } from "./requeue-active.js";
export type { RunOutcome, RunReport } from "./run-job.js";
export { createTokenMeter, type TokenMeter } from "./usage/token-meter.js";
export {
  COUNTED_KINDS,
  createUsageReader,
  JOB_OUTCOMES,
  type DayUsage,
  type JobOutcome,
  type UsageReader,
} from "./usage/usage-reader.js";
export { SerializedPayload } from "./serialized-payload.js";
export { JOB_SETTINGS, QUEUE_SETTINGS, type JobSettings, type QueueSettings } from "./settings.js";
export { createTenantEraser, type TenantEraser } from "./tenants/erase-tenant.js";
export { createTenantJobs, type TenantJobs } from "./tenants/tenant-jobs.js";
export type * from "./types.js";
export {
  createRequestLedger,
  type KeyedRequest,
  type RequestLedger,
  type RequestTurn,
} from "./requests/request-ledger.js";
export { createDeliveries, type Deliveries } from "./webhooks/deliveries.js";
export { createWebhookPoster, type WebhookPoster } from "./webhooks/post-webhook.js";
export { createSecretBox, type SecretBox } from "./webhooks/secret-box.js";
export { signatureHeaders } from "./webhooks/sign.js";
export { Targets, type TargetRules } from "./webhooks/targets.js";
export * from "./webhooks/types.js";
export { createWebhooks, type WebhookChange, type Webhooks } from "./webhooks/webhooks.js";
