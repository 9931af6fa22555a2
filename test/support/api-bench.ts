import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { EspalierError, parseConfig, randomId, systemClock } from "#core";
import { createJobClient, JOB_KINDS, JOB_NAMES, startJobWorkers, type JobHandler, type JobSettings } from "#jobs";
import type { KeyScope } from "#memory";
import { openStores, type Stores } from "#stores";
import { hashSecret, newSecret } from "../../apps/api/src/auth/secret.js";
import { startApi, type RunningApi } from "../../apps/api/src/start-api.js";
import { ApiClient } from "./api-client.js";
import { startRedis, type TestRedis } from "./redis.js";

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
  /** Lines that the API logged. */
  readonly log: readonly string[];
  /** The secret of a new key, made behind the API's back. */
  key(wish?: KeyWish): Promise<string>;
  close(): Promise<void>;
}

/** The model that the bench's deployment has; nothing here embeds. */
const MODEL = "bench-model";

export async function openApiBench(options: ApiBenchOptions = {}): Promise<ApiBench> {
  const folder = await mkdtemp(join(tmpdir(), "espalier-api-"));
  const redis = await startRedis();
  if (options.redis === "down") await redis.kill();
  const stores = await openStores({ dataFolder: folder, clock: systemClock });
  const shared = { redis: redis.address, payloadStore: stores.blobs, clock: systemClock };
  const settings = { settings: { prefix: `t${randomId("key").slice(-10)}`, ...options.settings } };
  const jobs = createJobClient({ ...shared, ids: randomId, ...settings });
  const handlers = Object.values(JOB_NAMES)
    .flat()
    .map((name) => ({ name, handle: options.handlers?.[name] ?? refuse }));
  const workers = startJobWorkers({ ...shared, roles: JOB_KINDS, handlers, ...settings });
  const log: string[] = [];
  const api = await startApi(parseConfig({ ESPALIER_PORT: "0", ...options.environment }), {
    ...{ stores, jobs },
    embeddingModels: {
      default: MODEL,
      identify: async (name) => {
        if (name === MODEL || name === "other-model") return name;
        throw new EspalierError("model_unknown", "no such model");
      },
    },
    logger: pino({ level: "info" }, { write: (line: string) => void log.push(line) }),
  });
  const key = async (wish: KeyWish = {}): Promise<string> => {
    const secret = newSecret();
    await stores.keys.add(
      {
        id: randomId("key"),
        tenant: wish.tenant ?? "default",
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
    ...{ api, redis, stores, log, key },
    client: new ApiClient(api.url, await key()),
    close: async () => {
      await api.close();
      await workers.close(0);
      await jobs.close();
      await stores.close();
      await redis.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function refuse(): Promise<never> {
  throw new EspalierError("internal", "this test has no such handler");
}
