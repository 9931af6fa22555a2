import type { Logger } from "pino";
import type { Clock, Config, IdSource } from "#core";
import type { AccessNews, Background, JobClient, RequestLedger, RequestLimiter, TenantJobs, UsageReader } from "#jobs";
import type { KeyStore, Outbox, TenantDeletion, TenantLimitSource, TenantStore, TreeStore } from "#memory";
import type { QueueViews, Targets, Webhooks } from "#jobs";
import type { BodyThreads } from "./bodies/body-threads.js";

/** What one dependency of the process answers when it is asked whether it is up. */
export interface Dependency {
  readonly name: string;
  /** Rejects if the dependency is down. */
  check(): Promise<void>;
}

/** The embedding models of the deployment by name: the API never loads one. */
export interface ModelNames {
  /** Id of the model of new memories. */
  readonly default: string;
  /** The id of a model that a person names. Error: `model_unknown`. */
  identify(name: string): Promise<string>;
}

/** Renders the process's metrics. */
export interface MetricsSource {
  /** A limit refused a request or a job. */
  limitRefused(limit: string): void;
  readonly contentType: string;
  metrics(): Promise<string>;
}

/** What there is besides where trees and vectors lie apart. */
export interface ApartDependencies {
  readonly outbox: Pick<Outbox, "backlog" | "retry">;
  readonly background: Pick<Background, "held" | "sweeps">;
}

/** Everything that the API works with. It never touches a model: the names of the models come from the configuration. */
export interface ApiDependencies {
  readonly config: Config;
  readonly tree: TreeStore;
  readonly keys: KeyStore;
  readonly tenants: TenantStore;
  /** Tells the other API processes that keys or tenants have changed. */
  readonly news: AccessNews;
  /** Takes a tenant out of every store, as far as one request can. */
  readonly eraseTenant: (tenant: string) => Promise<TenantDeletion>;
  /** What the queues know of tenants. */
  readonly tenantJobs: Pick<TenantJobs, "setWeight">;
  readonly jobs: JobClient;
  /** Requests under idempotency keys that are no jobs. */
  readonly requests: RequestLedger;
  readonly webhooks: Webhooks;
  /** For the board of the queues. */
  readonly queueViews: QueueViews;
  /** Where webhooks may go. */
  readonly targets: Targets;
  readonly usage: Pick<UsageReader, "days">;
  readonly limits: TenantLimitSource;
  /** The buckets of requests that all API processes share. */
  readonly limiter: RequestLimiter;
  readonly embeddingModels: ModelNames;
  readonly bodyThreads: BodyThreads;
  /** Absent where one transaction writes trees and vectors. */
  readonly apart?: ApartDependencies;
  /** What `/health/ready` asks. */
  readonly health: readonly Dependency[];
  readonly metrics: MetricsSource;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly ids: IdSource;
  /** Aborted when the process begins to stop: waiting requests and event streams end early. */
  readonly stopping: AbortSignal;
}

/** Injection token of `ApiDependencies`. */
export const API_DEPENDENCIES = Symbol("ApiDependencies");
