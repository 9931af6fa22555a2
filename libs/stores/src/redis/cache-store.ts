/**
 * Persistent caches in Redis. Per tenant and kind there are two keys in one slot: a hash of values and a sorted set of their
 * ages in microseconds of Redis' own clock. A write adds what is new, drops what is too old and the oldest of what is too
 * much, and puts off the end of both keys, in one script: one round trip, nothing half done.
 *
 * A cache is a help: one that cannot be reached answers that it has nothing and keeps nothing, and says so to `onFailure`.
 */
import type { Redis } from "ioredis";
import { LIMITS, RETENTION_SECONDS } from "#core";
import { connectRedis } from "#jobs";
import type { CacheStore } from "#memory";
import type { Embedding, EmbeddingCache, EntailmentCache } from "#scoring";
import type { CacheLimits } from "../stores.js";

export interface RedisCacheOptions {
  /** As for the jobs. */
  readonly address: string;
  /** First part of all keys. Default `espalier`. */
  readonly prefix?: string;
  /** Largest numbers of rows of one tenant; the oldest go first. */
  readonly limits: CacheLimits;
  /** Hears of calls that failed; there can be many. */
  readonly onFailure?: (error: unknown) => void;
}

/** KEYS values, ages. ARGV milliseconds to live, limit, then field and value of each row. Answers the count of rows. */
const PUT = `
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
for i = 3, #ARGV, 2 do
  if redis.call('HSETNX', KEYS[1], ARGV[i], ARGV[i + 1]) == 1 then
    redis.call('ZADD', KEYS[2], now + i, ARGV[i])
  end
end
local over = redis.call('ZCARD', KEYS[2]) - ARGV[2]
local goes = redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', now - ARGV[1] * 1000, 'LIMIT', 0, ${LIMITS.cacheKeys})
if over > #goes then goes = redis.call('ZRANGE', KEYS[2], 0, math.min(over, ${2 * LIMITS.cacheKeys}) - 1) end
for _, field in ipairs(goes) do
  redis.call('HDEL', KEYS[1], field)
  redis.call('ZREM', KEYS[2], field)
end
redis.call('PEXPIRE', KEYS[1], ARGV[1])
redis.call('PEXPIRE', KEYS[2], ARGV[1])
return redis.call('ZCARD', KEYS[2])`;

/** How a value lies in Redis. */
interface Form<Value> {
  readonly kind: keyof CacheLimits;
  encode(value: Value): Buffer;
  decode(bytes: Buffer): Value;
}

/** One byte that says whether the text was longer than the window, then the vector's 32-bit numbers as machines have them. */
const EMBEDDING: Form<Embedding> = {
  kind: "embeddings",
  encode: ({ vector, windowed }) => {
    const bytes = Buffer.alloc(1 + vector.byteLength);
    bytes.writeUInt8(windowed ? 1 : 0);
    bytes.set(new Uint8Array(vector.buffer, vector.byteOffset, vector.byteLength), 1);
    return bytes;
  },
  decode: (bytes) => ({
    vector: new Float32Array(Uint8Array.from(bytes.subarray(1)).buffer),
    windowed: bytes.readUInt8() === 1,
  }),
};

const ENTAILMENT: Form<number> = {
  kind: "entailments",
  encode: (value) => {
    const bytes = Buffer.alloc(8);
    bytes.writeDoubleLE(value);
    return bytes;
  },
  decode: (bytes) => bytes.readDoubleLE(),
};

export class RedisCacheStore implements CacheStore {
  readonly #redis: Redis;
  readonly #options: RedisCacheOptions;

  constructor(options: RedisCacheOptions) {
    const { address } = options;
    this.#options = options;
    const patience = {
      // A call waits for the first connection, and for none that was refused.
      maxRetriesPerRequest: 0,
      commandTimeout: LIMITS.cacheCallMs,
      disconnectTimeout: DISCONNECT_MS,
      retryStrategy: (times: number) => Math.min(100 * times, RECONNECT_MAX_MS),
    };
    this.#redis = connectRedis(address, "worker", patience);
  }

  embeddings(tenant: string): EmbeddingCache {
    return this.#cache(tenant, EMBEDDING);
  }

  entailments(tenant: string): EntailmentCache {
    return this.#cache(tenant, ENTAILMENT);
  }

  /** Everything that is kept for a tenant. Answers the count of rows. Errors are those of Redis. */
  async deleteTenant(tenant: string): Promise<number> {
    const kinds = [EMBEDDING.kind, ENTAILMENT.kind];
    const counts = await Promise.all(kinds.map((kind) => this.#redis.hlen(this.#keys(tenant, kind)[0])));
    await this.#redis.unlink(...kinds.flatMap((kind) => this.#keys(tenant, kind)));
    return counts.reduce((sum, count) => sum + count, 0);
  }

  close(): void {
    this.#redis.disconnect();
  }

  #cache<Value>(
    tenant: string,
    form: Form<Value>,
  ): {
    get(hashes: readonly string[]): Promise<ReadonlyMap<string, Value>>;
    put(entries: ReadonlyMap<string, Value>): Promise<void>;
  } {
    const [values, ages] = this.#keys(tenant, form.kind);
    return {
      get: async (hashes) => {
        if (hashes.length === 0) return new Map();
        const found = await this.#orNothing(this.#redis.hmgetBuffer(values, ...hashes));
        return new Map(
          hashes.flatMap((hash, index) => {
            const bytes = found?.[index] ?? undefined;
            return bytes === undefined ? [] : [[hash, form.decode(bytes)] as const];
          }),
        );
      },
      put: async (entries) => {
        if (entries.size === 0) return;
        const rows = [...entries].flatMap(([hash, value]) => [hash, form.encode(value)]);
        const limit = this.#options.limits[form.kind];
        await this.#orNothing(this.#redis.eval(PUT, 2, values, ages, RETENTION_SECONDS.cache * 1_000, limit, ...rows));
      },
    };
  }

  /** The tenant is the hash tag: a script may touch keys of one slot only. */
  #keys(tenant: string, kind: keyof CacheLimits): readonly [values: string, ages: string] {
    const { prefix = "espalier" } = this.#options;
    return [`${prefix}:{${tenant}}:cache:${kind}`, `${prefix}:{${tenant}}:cache:${kind}:ages`];
  }

  async #orNothing<T>(call: Promise<T>): Promise<T | undefined> {
    try {
      return await call;
    } catch (error) {
      this.#options.onFailure?.(error);
      return undefined;
    }
  }
}

/** Longest pause between two tries to connect. */
const RECONNECT_MAX_MS = 2_000;
/** How long a closing connection waits for the other side before it is cut. */
const DISCONNECT_MS = 200;
