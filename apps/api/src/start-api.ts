import type { AddressInfo } from "node:net";
import type { NestFastifyApplication } from "@nestjs/platform-fastify";
import type { Logger } from "pino";
import { LIMITS, randomId, systemClock, type Clock, type Config, type IdSource } from "#core";
import type { AccessNews, JobClient, QueueAges, RequestLedger, RequestLimiter, TenantJobs, UsageReader } from "#jobs";
import { deleteTenant, type TenantLimitSource, type TenantQueues } from "#memory";
import { Targets, type QueueViews, type Webhooks } from "#jobs";
import type { Stores } from "#stores";
import { createLogger, createMetrics, serveMetrics, timeCalls, type Metrics } from "#telemetry";
import { createBodyThreads, type BodyThreads } from "./bodies/body-threads.js";
import type { ApartDependencies, ApiDependencies, Dependency, ModelNames } from "./dependencies.js";
import { createServer } from "./http/server.js";
import { seedWeights } from "./tenants/seed-weights.js";

/** What the API needs from outside; the caller closes what it gives. */
export interface GivenDependencies {
  readonly stores: Pick<Stores, "tree" | "keys" | "tenants" | "blobs" | "caches" | "ping">;
  readonly jobs: JobClient & Partial<QueueAges>;
  readonly requests: RequestLedger;
  readonly webhooks: Webhooks;
  readonly queueViews: QueueViews;
  readonly usage: Pick<UsageReader, "days">;
  readonly limits: TenantLimitSource;
  readonly limiter: RequestLimiter;
  readonly news: AccessNews;
  readonly tenantJobs: TenantJobs;
  readonly queues: TenantQueues;
  readonly embeddingModels: ModelNames;
  /** Dependencies that `/health/ready` names beside `redis` and `store`. */
  readonly health?: readonly Dependency[];
  /** Where trees and vectors lie apart. */
  readonly apart?: ApartDependencies | undefined;
  /** Closed with the API. */
  readonly bodyThreads?: BodyThreads;
  readonly metrics?: Metrics;
  readonly logger?: Logger;
  readonly clock?: Clock;
  readonly ids?: IdSource;
}

/** A listening API. */
export interface RunningApi {
  readonly url: string;
  /** Where `/metrics` is, when it has a bind of its own. */
  readonly metricsUrl?: string;
  /** Stops accepting, ends waits and streams, lets running requests end, and closes within the configured time. */
  close(): Promise<void>;
}

/** Starts the API over what it is given and listens. Redis and the store may be down: requests then answer 503. */
export async function startApi(config: Config, given: GivenDependencies): Promise<RunningApi> {
  const stopping = new AbortController();
  const metrics = given.metrics ?? createMetrics("api", systemClock);
  const dependencies = complete(config, given, metrics, stopping.signal);
  const application = await createServer(dependencies);
  await application.listen(config.port, config.host);
  const seeding = seedWeights(dependencies);
  const own =
    config.metricsPort === undefined
      ? undefined
      : await serveMetrics(metrics, { host: config.host, port: config.metricsPort });
  const { port } = application.getHttpServer().address() as AddressInfo;
  const host = config.host.includes(":") ? `[${config.host}]` : config.host;
  return {
    url: `http://${host}:${port}`,
    ...(own !== undefined && { metricsUrl: `http://${host}:${own.port}/metrics` }),
    close: async () => {
      stopping.abort();
      await seeding;
      await drain(application, config.shutdownSeconds * 1_000);
      await dependencies.bodyThreads.close();
      await own?.close();
    },
  };
}

function complete(config: Config, given: GivenDependencies, metrics: Metrics, stopping: AbortSignal): ApiDependencies {
  const { stores, jobs, requests, usage, limits, limiter, news, tenantJobs, embeddingModels } = given;
  watchBacklog(metrics, given);
  return {
    ...{ config, tree: timed(metrics, "tree", stores.tree), keys: timed(metrics, "keys", stores.keys) },
    tenants: timed(metrics, "tenants", stores.tenants),
    eraseTenant: (tenant) =>
      deleteTenant({ ...stores, queues: given.queues, now: () => systemClock.now() }, tenant, {
        withinMs: LIMITS.tenantDeletionMs,
      }),
    ...{ jobs, requests, usage, limits, limiter, news, tenantJobs, embeddingModels, metrics, stopping },
    ...{ webhooks: given.webhooks, queueViews: given.queueViews, targets: new Targets(config.webhooks) },
    health: [
      { name: "redis", check: () => jobs.ping() },
      { name: "store", check: () => stores.ping() },
      ...(given.health ?? []),
    ],
    ...(given.apart !== undefined && { apart: given.apart }),
    bodyThreads: given.bodyThreads ?? createBodyThreads(),
    logger: given.logger ?? createLogger({ level: config.logLevel, process: "api" }),
    clock: given.clock ?? systemClock,
    ids: given.ids ?? randomId,
  };
}

/** A store whose calls the metrics hear of. */
function timed<T extends object>(metrics: Metrics, store: string, target: T): T {
  return timeCalls(target, ({ op, milliseconds }) => {
    metrics.storeCall({ store, op, milliseconds });
  });
}

/** The API never scales to zero, so the gauges of the backlog come from it. */
function watchBacklog(
  metrics: Metrics,
  { jobs, webhooks, apart }: Pick<GivenDependencies, "jobs" | "webhooks" | "apart">,
): void {
  metrics.watchBacklog(async () => {
    const [counts, oldestMs, admission, webhooksOverdueMs, stores] = await Promise.all([
      jobs.counts(),
      jobs.oldestMs?.() ?? {},
      jobs.backlog?.() ?? {},
      webhooks.overdueMs(),
      apart === undefined ? undefined : readStores(apart),
    ]);
    return { counts, oldestMs, admission, webhooksOverdueMs, ...(stores !== undefined && { stores }) };
  });
}

async function readStores({ outbox, background }: ApartDependencies) {
  const [tenants, { drift }] = await Promise.all([outbox.backlog(LIMITS.relayTenants), background.sweeps.state()]);
  return { outboxRows: tenants.reduce((sum, { rows }) => sum + rows, 0), drift };
}

/** How often connections that have become idle are closed: clients keep them open for their next request. */
const IDLE_CHECK_MS = 25;

/** Lets running requests end. Connections that are still busy when the time is over are cut. */
async function drain(application: NestFastifyApplication, withinMs: number): Promise<void> {
  const server = application.getHttpServer();
  const idle = setInterval(() => {
    server.closeIdleConnections();
  }, IDLE_CHECK_MS);
  const late = setTimeout(() => {
    server.closeAllConnections();
  }, withinMs);
  try {
    await application.close();
  } finally {
    clearInterval(idle);
    clearTimeout(late);
  }
}
