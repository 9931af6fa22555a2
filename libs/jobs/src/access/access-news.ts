import type { Redis } from "ioredis";
import { jobKeys } from "../keys.js";
import { bounded, connectRedis } from "../redis.js";
import { JOB_SETTINGS, type JobSettings } from "../settings.js";

/** What processes tell each other when keys or tenants have changed: that whatever is remembered of them is old. */
export interface AccessNews {
  /**
   * Tells all processes, this one too. What cannot be told while Redis is away is not: whoever remembers keys forgets them by
   * itself within a second.
   */
  tell(): Promise<void>;
  /** Calls the listener whenever something was told, or may have been. */
  listen(listener: () => void): void;
  close(): void;
}

/** Opens it over two connections. Returns at once, also when Redis is down. */
export function createAccessNews(options: {
  /** As for `createJobClient`. */
  readonly redis: string;
  readonly settings?: Partial<JobSettings>;
}): AccessNews {
  const settings = { ...JOB_SETTINGS, ...options.settings };
  return new RedisAccessNews(
    { publisher: connectRedis(options.redis, "producer"), subscriber: connectRedis(options.redis, "subscriber") },
    settings,
  );
}

class RedisAccessNews implements AccessNews {
  readonly #listeners: (() => void)[] = [];
  readonly #channel: string;

  constructor(
    private readonly connections: { readonly publisher: Redis; readonly subscriber: Redis },
    private readonly settings: JobSettings,
  ) {
    this.#channel = jobKeys(settings.prefix).access;
    const { subscriber } = connections;
    subscriber.on("message", () => {
      this.#callAll();
    });
    // Something may have been told while there was no connection.
    subscriber.on("ready", () => {
      this.#callAll();
    });
    subscriber.subscribe(this.#channel).catch(() => {
      // Closed before the first connection; a lost one subscribes again by itself.
    });
  }

  async tell(): Promise<void> {
    this.#callAll();
    const { publisher } = this.connections;
    await bounded(publisher, this.settings, () => publisher.publish(this.#channel, "")).catch(() => undefined);
  }

  listen(listener: () => void): void {
    this.#listeners.push(listener);
  }

  close(): void {
    this.connections.publisher.disconnect();
    this.connections.subscriber.disconnect();
  }

  #callAll(): void {
    for (const listener of this.#listeners) listener();
  }
}
