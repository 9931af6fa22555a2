import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { EspalierError, parseConfig, type Config, randomId, systemClock } from "#core";
import {
  createAccessNews,
  createJobClient,
  createRequestLedger,
  createRequestLimiter,
  createTenantEraser,
  createTenantJobs,
  createUsageReader,
  type AccessNews,
  type createBackground,
  JOB_KINDS,
  JOB_NAMES,
  startJobWorkers,
  type JobHandler,
  type JobSettings,
  type JobWorkersOptions,
} from "#jobs";
import { createTenantLimits, type KeyScope } from "#memory";
import { createQueueViews, createSecretBox, createWebhooks } from "#jobs";
import { openStores, type Stores } from "#stores";
import { hashSecret, newSecret } from "../../apps/api/src/auth/secret.js";
import type { ApartDependencies, ModelNames } from "../../apps/api/src/dependencies.js";
import { startApi, type RunningApi } from "../../apps/api/src/start-api.js";
import type { BodyThreads } from "../../apps/api/src/bodies/body-threads.js";
import { ApiClient } from "./api-client.js";
import { bodyThreadsOfSources } from "./body-threads.js";
import { startRedis, type TestRedis } from "./redis.js";

interface Closable {
  close(): Promise<void>;
}

/** What a key of a test is like; the default has every scope of tenant `default` and no end. */
export interface KeyWish {
  readonly tenant?: string;
  readonly scopes?: readonly KeyScope[];
  readonly memoryPrefix?: string;
  readonly expiresAt?: number;
}

export interface ApiBenchOptions {
  /** Handlers by job name; a name without one fails its jobs. */
  readonly handlers?: Readonly<Record<string, JobHandler>>;
  /** Instead of handlers: a worker of the test's own. */
  readonly startWorker?: (
    config: Config & { readonly redisUrl: string },
    settings: Partial<JobSettings>,
  ) => Promise<Closable>;
  /** Default: models that have names and nothing else. */
  readonly models?: (config: Config) => Promise<ModelNames>;
  readonly bodyThreads?: BodyThreads;
  /** As if trees and vectors lay apart: what there is besides then. The test closes it. */
  readonly apart?: (shared: Parameters<typeof createBackground>[0]) => ApartDependencies;
  readonly environment?: Readonly<Record<string, string>>;
  readonly settings?: Partial<JobSettings>;
  /** Whether Redis runs from the start. */
  readonly redis?: "up" | "down";
}

/** An API over a real Redis and real SQLite, with workers whose handlers the test chooses. */
export interface ApiBench {
  readonly api: RunningApi;
  readonly client: ApiClient;
  readonly redis: TestRedis;
  readonly stores: Stores;
  /** Data folder of the stores. */
  readonly folder: string;
  /** Lines that the API logged. */
  readonly log: readonly string[];
  /** A client of another API process over the same stores and the same Redis. */
  replica(): Promise<ApiClient>;
  /** The secret of a new key, made behind the API's back. */
  key(wish?: KeyWish): Promise<string>;
  close(): Promise<void>;
}

/** The models of a bench whose handlers embed nothing. */
const NAMED_MODELS: ModelNames = {
  default: "bench-model",
  identify: async (name: string): Promise<string> => {
    if (name === "bench-model" || name === "other-model") return name;
    const models = ["bench-model", "other-model"];
    throw new EspalierError("model_unknown", "There is no such model.", { details: { models } });
  },
};

export async function openApiBench(options: ApiBenchOptions = {}): Promise<ApiBench> {
  const folder = await mkdtemp(join(tmpdir(), "espalier-api-"));
  const redis = await startRedis();
  if (options.redis === "down") await redis.kill();
  const stores = openStores({ folder });
  const settings: Partial<JobSettings> = { prefix: `t${randomId("key").slice(-10)}`, ...options.settings };
  const shared = { redis: redis.address, payloadStore: stores.blobs, clock: systemClock, settings };
  const environment = { ESPALIER_PORT: "0", LOG_LEVEL: "error", ...options.environment };
  const config = { ...parseConfig(environment), redisUrl: redis.address, dataFolder: folder };
  const limits = createTenantLimits(stores.tenants, config.tenantLimits, () => performance.now());
  const jobs = createJobClient({ ...shared, ids: randomId, limits: (tenant) => limits.of(tenant) });
  const requests = createRequestLedger({ ...shared, limits: (tenant) => limits.of(tenant) });
  const webhooks = createWebhooks({ ...shared, box: createSecretBox() });
  const queueViews = createQueueViews(shared);
  const limiter = createRequestLimiter(shared);
  const usage = createUsageReader(shared);
  const tenantJobs = createTenantJobs(shared);
  const queues = createTenantEraser({ ...shared, jobs });
  const news: AccessNews[] = [];
  const workers = await (options.startWorker?.(config, settings) ?? startStubs(options.handlers ?? {}, shared));
  const embeddingModels = (await options.models?.(config)) ?? NAMED_MODELS;
  const log: string[] = [];
  const bodyThreads = options.bodyThreads ?? bodyThreadsOfSources();
  const start = (): Promise<RunningApi> => {
    const own = createAccessNews(shared);
    news.push(own);
    return startApi(config, {
      ...{ stores, jobs, webhooks, queueViews, requests, usage, limits, limiter, tenantJobs, queues, embeddingModels },
      ...{ bodyThreads, news: own, apart: options.apart?.(shared) },
      logger: pino({ level: "info" }, { write: (line: string) => void log.push(line) }),
    });
  };
  const api = await start();
  const replicas: RunningApi[] = [];
  const key = async (wish: KeyWish = {}): Promise<string> => {
    const [secret, tenant] = [newSecret(), wish.tenant ?? "default"];
    await stores.tenants.create({ id: tenant, name: tenant, createdAt: Date.now(), weight: 1, limits: {} });
    await stores.keys.add(
      {
        id: randomId("key"),
        tenant,
        name: "test",
        scopes: wish.scopes ?? ["read", "write", "admin", "operator"],
        ...(wish.memoryPrefix !== undefined && { memoryPrefix: wish.memoryPrefix }),
        createdAt: Date.now(),
        ...(wish.expiresAt !== undefined && { expiresAt: wish.expiresAt }),
      },
      hashSecret(secret),
    );
    return secret;
  };
  return {
    ...{ api, redis, stores, folder, log, key },
    client: new ApiClient(api.url, await key()),
    replica: async () => {
      const replica = await start();
      replicas.push(replica);
      return new ApiClient(replica.url, await key());
    },
    close: async () => {
      for (const running of [api, ...replicas]) await running.close();
      await workers.close();
      await jobs.close();
      await requests.close();
      await webhooks.close();
      await queueViews.close();
      await limiter.close();
      usage.close();
      tenantJobs.close();
      await queues.close();
      for (const one of news) one.close();
      await stores.close();
      await redis.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function startStubs(
  chosen: Readonly<Record<string, JobHandler>>,
  shared: Omit<JobWorkersOptions, "roles" | "handlers">,
): Closable {
  const handlers = Object.values(JOB_NAMES)
    .flat()
    .map((name) => ({ name, handle: chosen[name] ?? refuse }));
  const workers = startJobWorkers({ ...shared, roles: JOB_KINDS, handlers });
  return { close: () => workers.close({ drainMs: 0, giveBackMs: 1_000 }) };
}

async function refuse(): Promise<never> {
  throw new EspalierError("internal", "This test has no such handler.");
}
