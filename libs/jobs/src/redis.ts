import { Cluster, Redis, type RedisOptions } from "ioredis";
import { EspalierError, inTime } from "#core";
import { LANE_SCRIPTS } from "./admission/lane-scripts.js";
import { SCRIPTS } from "./scripts.js";

/** Longest pause between two tries to connect: a Redis that comes back is used within seconds. */
const RECONNECT_MAX_MS = 2_000;

/** How long a closing connection waits for the other side before it is cut. */
const DISCONNECT_MS = 200;

const SCRIPTS_OF_ALL = { ...SCRIPTS, ...LANE_SCRIPTS };

const reconnectMs = (times: number): number => Math.min(50 * 2 ** Math.min(times, 10), RECONNECT_MAX_MS);

/**
 * - `producer`: refuses at once when there is no connection, never sends a command twice: what was answered
 *   `queue_unavailable` must not happen later.
 * - `worker`: waits for the connection for as long as it takes; its transitions are fenced and repeat safely.
 * - `subscriber`: subscribes again by itself.
 */
export type RedisRole = "producer" | "worker" | "subscriber";

/** Options of a connection that a caller may change. */
export type ConnectOptions = Omit<RedisOptions, "protocol" | "replyMapping">;

/**
 * Connects to `redis://…`, `rediss://…`, `unix:///path`, a socket's path, or a cluster by some of its nodes:
 * `redis+cluster://host:port?node=host:port&node=…` (`rediss+cluster` for TLS; user and password as in `redis://`). Never
 * throws; the connection makes itself.
 */
export function connectRedis(address: string, role: RedisRole, options: ConnectOptions = {}): Redis {
  const shared: ConnectOptions = {
    ...socketOf(address),
    scripts: SCRIPTS_OF_ALL,
    retryStrategy: reconnectMs,
    maxRetriesPerRequest: null,
    disconnectTimeout: DISCONNECT_MS,
    ...(role === "producer" && { enableOfflineQueue: false, autoResendUnfulfilledCommands: false }),
    ...options,
  };
  if (isCluster(address)) return connectCluster(new URL(address), role, options);
  const redis =
    address.includes("://") && !address.startsWith("unix:") ? new Redis(address, shared) : new Redis(shared);
  // Without a listener an unreachable Redis would end the process; callers see it on their calls.
  redis.on("error", ignoreConnectionErrors);
  return redis;
}

/** Whether an address names a cluster. */
export function isCluster(address: string): boolean {
  return /^rediss?\+cluster:/.test(address);
}

/** A cluster takes the same commands; keys that one command or script touches share a hash tag. */
function connectCluster(url: URL, role: RedisRole, options: ConnectOptions): Redis {
  const nodes = [url.host, ...url.searchParams.getAll("node")].map((node) => new URL(`redis://${node}`));
  const cluster = new Cluster(
    nodes.map(({ hostname, port }) => ({ host: hostname, port: Number(port === "" ? 6_379 : port) })),
    {
      scripts: SCRIPTS_OF_ALL,
      clusterRetryStrategy: options.retryStrategy === null ? null : reconnectMs,
      lazyConnect: options.lazyConnect === true,
      enableOfflineQueue: role !== "producer",
      redisOptions: {
        ...(url.username !== "" && { username: decodeURIComponent(url.username) }),
        ...(url.password !== "" && { password: decodeURIComponent(url.password) }),
        ...(url.protocol.startsWith("rediss") && { tls: {} }),
        maxRetriesPerRequest: role === "producer" ? 0 : null,
        disconnectTimeout: DISCONNECT_MS,
      },
    },
  );
  cluster.on("error", ignoreConnectionErrors);
  return cluster as unknown as Redis;
}

function socketOf(address: string): ConnectOptions {
  if (address.startsWith("unix:")) return { path: new URL(address).pathname };
  return address.includes("://") ? {} : { path: address };
}

function ignoreConnectionErrors(): void {
  // Reported by the call that fails.
}

/**
 * Runs a producer's calls with a time-out over all of them.
 * @throws EspalierError `queue_unavailable` when Redis is down, does not answer in time, or refuses writes
 */
export async function bounded<T>(
  redis: Redis,
  limits: { readonly callTimeoutMs: number; readonly connectGraceMs: number },
  calls: () => Promise<T>,
): Promise<T> {
  if (redis.status !== "ready") await connected(redis, limits.connectGraceMs);
  try {
    return await inTime(calls(), limits.callTimeoutMs, () =>
      unavailable(`Redis did not answer within ${limits.callTimeoutMs} ms.`),
    );
  } catch (error) {
    if (error instanceof EspalierError) throw error;
    throw unavailable("Redis cannot be reached or refuses the command.", error);
  }
}

async function connected(redis: Redis, graceMs: number): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<undefined>();
  const ready = (): void => {
    resolve(undefined);
  };
  const timer = setTimeout(() => {
    reject(unavailable("There is no connection to Redis."));
  }, graceMs);
  redis.once("ready", ready);
  try {
    await promise;
  } finally {
    clearTimeout(timer);
    redis.off("ready", ready);
  }
}

/** Told instead of doing what a caller no longer waits for: it has been told that it did not happen. */
export function cameLate(): EspalierError {
  return new EspalierError("queue_unavailable", "Redis was away for longer than a submit waits.");
}

function unavailable(message: string, cause?: unknown): EspalierError {
  return new EspalierError("queue_unavailable", message, cause === undefined ? {} : { cause });
}
