export type * from "./results.js";
export type * from "./memory.js";
export type * from "./services.js";
export type * from "./ports/embedding-models.js";
export type * from "./ports/outbox.js";
export type * from "./ports/side-stores.js";
export * from "./ports/tenant-store.js";
export type * from "./ports/tree-store.js";
export type * from "./ports/vector-store.js";
export { stateBytes } from "./model/state-bytes.js";
export { checkKeyQuota, checkMemoryQuota, checkQuota, LEAST_ROOM, type WantedRoom } from "./tenants/check-quota.js";
export {
  deleteTenant,
  type TenantDeletion,
  type TenantDeletionCounts,
  type TenantQueues,
} from "./tenants/delete-tenant.js";
export { finishDeletions } from "./tenants/finish-deletions.js";
export { createTenantLimits, type TenantLimitSource } from "./tenants/tenant-limits.js";
export { checkInsert, type CheckedInsert } from "./growers/check-insert.js";
export { Inserter, type InsertContext } from "./growers/insert.js";
export type * from "./growers/insert-request.js";
export { checkTree } from "./model/check-tree.js";
export { isName, isNameTooLong } from "./model/names.js";
export { nodeText, templatesOf, type Templates } from "./model/node-text.js";
export { parseXml } from "./model/parse-xml.js";
export * from "./model/position-keys.js";
export * from "./model/rekey-children.js";
export { liesApart, type ApartServices } from "./outbox/apart-services.js";
export { completeJobs, followJobs, type JobsInWaiting, type WaitingJob } from "./outbox/complete-jobs.js";
export { embedRows, type EmbedRowsResult } from "./outbox/embed-rows.js";
export { Relay, type RelayTurn, type ScorePort } from "./outbox/relay.js";
export { WriteQueue } from "./writing/write-queue.js";
export { embedFields, type EmbedFieldsResult } from "./maintenance/embed-fields.js";
export { buryTombstones } from "./maintenance/bury-tombstones.js";
export { findDrift, reconcile, type ReconcileResult } from "./maintenance/reconcile.js";
export { reembed, type ReembedResult } from "./maintenance/reembed.js";
export { retext, type RetextContext, type RetextResult } from "./maintenance/retext.js";
export { Reader } from "./readers/reader.js";
