import type { JobKind, JobRecord, JobState } from "../types.js";

/** The states of a job that a webhook can be told of. */
export type EndState = Exclude<JobState, "queued" | "active">;

/** All of them. */
export const END_STATES = ["completed", "failed", "dead", "cancelled"] as const satisfies readonly EndState[];

/**
 * Why a webhook gets nothing: somebody asked for it, it failed for days, it answered 410 Gone, or more deliveries wait for
 * it than are kept.
 */
export type DisabledReason = "asked" | "failing" | "gone" | "backlog";

/** What a person says of a webhook. */
export interface WebhookWish {
  readonly url: string;
  readonly name?: string;
  /** Not empty. */
  readonly events: readonly EndState[];
  /** Not empty. */
  readonly kinds: readonly JobKind[];
  /** Absent: the jobs of all memories. */
  readonly memory?: string;
}

/** A webhook of a tenant, without its secrets. Times are milliseconds since the epoch. */
export interface Webhook extends WebhookWish {
  readonly id: string;
  readonly createdAt: number;
  readonly disabled?: { readonly reason: DisabledReason; readonly at: number };
  /** Since when every request has failed. */
  readonly failingSince?: number;
  /** The last success. */
  readonly deliveredAt?: number;
}

/** What is sent to a webhook about the end of one job. */
export interface Delivery {
  /** Of the event: what the receiver gets as `webhook-id`, whatever the number of tries. */
  readonly id: string;
  readonly job: string;
  readonly event: EndState;
  /** `dead`: given up, or its webhook is disabled. */
  readonly state: "pending" | "delivered" | "dead";
  /** Requests since it was made, or sent again by hand. */
  readonly attempts: number;
  readonly createdAt: number;
  readonly attemptedAt?: number;
  /** When it is sent at the earliest, while it is pending. */
  readonly nextAt?: number;
  readonly deliveredAt?: number;
  /** Of the last answer. */
  readonly status?: number;
  /** Why the last request failed. */
  readonly error?: string;
}

/** Where an attempt goes, and what it says. */
export interface Attempt {
  readonly url: string;
  /** All that sign it: the newest first, beside it the one before for a while. Sealed. */
  readonly secrets: readonly string[];
  readonly id: string;
  readonly event: EndState;
  /** When the job ended. */
  readonly at: number;
  /** As it was at its end, without its result. */
  readonly record: JobRecord;
}

/** What came of an attempt. A 2xx is a success; without a status the request did not get so far. */
export type AttemptAnswer =
  { readonly status: number; readonly error?: string } | { readonly status?: never; readonly error: string };

/** What a try of a delivery came to; `retried`: there will be another. */
export type DeliveryOutcome = "delivered" | "retried" | "dead";

/** Makes one request. Rejects only when the signal is aborted: then nothing is known of it. */
export type SendAttempt = (attempt: Attempt, signal: AbortSignal) => Promise<AttemptAnswer>;
