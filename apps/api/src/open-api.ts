import { randomId, systemClock, type Config } from "#core";
import {
  createAccessNews,
  createBackground,
  createJobClient,
  createRequestLedger,
  createRequestLimiter,
  createTenantEraser,
  createTenantJobs,
  createUsageReader,
} from "#jobs";
import { createTenantLimits } from "#memory";
import { createQueueViews, createSecretBox, createWebhooks } from "#jobs";
import { openEmbeddingModels } from "#models";
import { openStoresOf, type Stores } from "#stores";
import type { Metrics } from "#telemetry";
import { ensureAdminKey, type FirstKey } from "./auth/admin-key.js";
import type { ApartDependencies } from "./dependencies.js";
import { startApi, type RunningApi } from "./start-api.js";

/** A listening API that owns its stores and connections. */
export interface OpenApi extends RunningApi {
  /**
   * Makes the first key of a deployment that has none. For when everything answers: a start that fails must not make a
   * key that nobody is shown.
   */
  firstKey(): Promise<FirstKey>;
}

/** Opens what the API needs by the configuration, and listens. On an error everything is closed again. */
export async function openApi(
  config: Config & { readonly redisUrl: string },
  options: { readonly metrics?: Metrics } = {},
): Promise<OpenApi> {
  await using opened = new AsyncDisposableStack();
  const stores = openStoresOf(config, systemClock);
  opened.defer(() => stores.close());
  const shared = { redis: config.redisUrl, payloadStore: stores.blobs, clock: systemClock };
  const limits = createTenantLimits(stores.tenants, config.tenantLimits, () => performance.now());
  const jobs = createJobClient({ ...shared, ids: randomId, limits: (tenant) => limits.of(tenant) });
  opened.defer(() => jobs.close());
  const requests = createRequestLedger({ ...shared, limits: (tenant) => limits.of(tenant) });
  opened.defer(() => requests.close());
  const webhooks = createWebhooks({ ...shared, box: createSecretBox(config.webhooks.secretsKey) });
  opened.defer(() => webhooks.close());
  const queueViews = createQueueViews(shared);
  opened.defer(() => queueViews.close());
  const usage = createUsageReader(shared);
  opened.defer(() => {
    usage.close();
  });
  const limiter = createRequestLimiter(shared);
  opened.defer(() => limiter.close());
  const news = createAccessNews(shared);
  opened.defer(() => {
    news.close();
  });
  const tenantJobs = createTenantJobs(shared);
  opened.defer(() => {
    tenantJobs.close();
  });
  const queues = createTenantEraser({ ...shared, jobs });
  opened.defer(() => queues.close());
  const apart = openApart(stores, shared, opened);
  const embeddingModels = await openEmbeddingModels(config.embedding, {
    modelsFolder: config.modelsFolder,
    now: () => systemClock.now(),
  });
  const given = {
    ...{ stores, jobs, webhooks, queueViews, requests, usage, limits, limiter },
    ...{ news, tenantJobs, queues, embeddingModels, apart },
  };
  const api = await startApi(config, { ...given, ...options });
  opened.defer(() => api.close());
  const closing = opened.move();
  return {
    url: api.url,
    ...(api.metricsUrl !== undefined && { metricsUrl: api.metricsUrl }),
    firstKey: () =>
      ensureAdminKey({
        keys: stores.keys,
        tenants: stores.tenants,
        dataFolder: config.dataFolder,
        clock: systemClock,
        ids: randomId,
      }),
    close: () => closing.disposeAsync(),
  };
}

function openApart(
  { apart }: Stores,
  shared: Parameters<typeof createBackground>[0],
  opened: AsyncDisposableStack,
): ApartDependencies | undefined {
  if (apart === undefined) return undefined;
  const background = createBackground(shared);
  opened.defer(() => background.close());
  return { outbox: apart.outbox, background };
}
