/**
 * Keyed items to values: the process's cache, then the tenant's, then the model in micro-batches. What the model answers
 * goes into both caches wave by wave, so a job that dies half-way resumes where it was. Items that the model refused are
 * remembered for a while, so that who can do without them does not ask for them again and again.
 */
import { type EspalierError, LIMITS, toEspalierError } from "#core";
import { LRUCache } from "lru-cache";
import pLimit from "p-limit";
import { throwIfAborted } from "../abort.js";
import { MicroBatcher, type MicroBatcherOptions } from "../batching/micro-batcher.js";
import { chunks } from "../chunks.js";
import { isOfOneText, isRefusedText } from "../refused-text.js";

/** A cache outside the process; one call for all keys. */
interface PersistentCache<Value> {
  get(keys: readonly string[]): Promise<ReadonlyMap<string, Value>>;
  /** `tokens`: what the model read for these entries just now. */
  put(entries: ReadonlyMap<string, Value>, tokens?: number): Promise<void>;
}

/** Hears of every lookup: which cache, how many keys it knew and how many it did not. */
export type OnLookup = (cache: "process" | "tenant", hits: number, misses: number) => void;

export interface CachedBatchesOptions<Item, Value extends object | number> extends MicroBatcherOptions<Item, Value> {
  readonly processCache: LRUCache<string, Value>;
  readonly onLookup?: OnLookup | undefined;
}

/** How one job asks. */
export interface AskOptions {
  readonly signal?: AbortSignal | undefined;
  /** Distinct items done of those asked for; called as it goes. */
  readonly onProgress?: ((done: number, total: number) => void) | undefined;
  /** Goes before what is not urgent: somebody waits for a query, nobody for an insert. */
  readonly urgent?: boolean;
}

/** What asking did. */
export interface AskReport {
  /** Distinct items that a cache knew. */
  readonly cacheHits: number;
  /** Sizes of the model calls that these items took part in (other jobs' items included). */
  readonly batchSizes: readonly number[];
}

/** How one job asks that can do without some of the values. */
export interface AskEachOptions extends AskOptions {
  /** Asks the model again for what it refused a while ago. */
  readonly again?: boolean;
}

interface Asked<Value> {
  readonly cache: PersistentCache<Value> | undefined;
  readonly options: AskOptions;
  readonly known: Map<string, Value>;
  /** Items that failed by themselves. */
  readonly failed: Map<string, EspalierError>;
  /** Number of a model call -> its size. */
  readonly calls: Map<number, number>;
}

export class CachedBatches<Item, Value extends object | number> {
  readonly #processCache: LRUCache<string, Value>;
  readonly #onLookup: OnLookup | undefined;
  readonly #batcher: MicroBatcher<Item, Value>;
  readonly #refused: LRUCache<string, EspalierError>;

  constructor(options: CachedBatchesOptions<Item, Value>) {
    this.#processCache = options.processCache;
    this.#onLookup = options.onLookup;
    this.#batcher = new MicroBatcher(options);
    const { now } = options;
    this.#refused = new LRUCache({ max: LIMITS.refusedItems, ttl: LIMITS.refusedItemMs, perf: { now } });
  }

  /**
   * The values of all items by their keys. On an error (the model's, or `cancelled`) what was computed before it is in the
   * caches already.
   */
  async ask(
    items: ReadonlyMap<string, Item>,
    cache: PersistentCache<Value> | undefined,
    options: AskOptions,
  ): Promise<AskReport & { readonly values: ReadonlyMap<string, Value> }> {
    const asked = await this.#open([...items.keys()], cache, options);
    const cacheHits = asked.known.size;
    await this.#askAll(items, asked, (error) => {
      throw error;
    });
    return { values: asked.known, cacheHits, batchSizes: [...asked.calls.values()] };
  }

  /**
   * For each item its value, or the error with which it failed by itself; others are thrown as by `ask`.
   */
  async askEach(
    items: ReadonlyMap<string, Item>,
    cache: PersistentCache<Value> | undefined,
    options: AskEachOptions,
  ): Promise<AskReport & { readonly outcomes: ReadonlyMap<string, Value | EspalierError> }> {
    const asked = await this.#open([...items.keys()], cache, options);
    const cacheHits = asked.known.size;
    if (options.again !== true) this.#recall(items, asked);
    await this.#askAll(items, asked, (error) => {
      if (!isOfOneText(error)) throw error;
    });
    const outcomes = new Map<string, Value | EspalierError>([...asked.failed, ...asked.known]);
    return { outcomes, cacheHits, batchSizes: [...asked.calls.values()] };
  }

  async #open(
    keys: readonly string[],
    cache: PersistentCache<Value> | undefined,
    options: AskOptions,
  ): Promise<Asked<Value>> {
    throwIfAborted(options.signal);
    const known = await this.#lookUp(keys, cache);
    return { cache, options, known, failed: new Map(), calls: new Map() };
  }

  /** What was refused a while ago and has no value since. */
  #recall(items: ReadonlyMap<string, Item>, { known, failed }: Asked<Value>): void {
    for (const key of items.keys()) {
      const error = known.has(key) ? undefined : this.#refused.get(key);
      if (error !== undefined) failed.set(key, error);
    }
  }

  /** Asks the model for what is neither known nor refused; `onFailure` hears of each wave's failures and throws to end it. */
  async #askAll(
    items: ReadonlyMap<string, Item>,
    asked: Asked<Value>,
    onFailure: (error: EspalierError) => void,
  ): Promise<void> {
    const { known, failed, options } = asked;
    options.onProgress?.(known.size + failed.size, items.size);
    const missing = [...items].filter(([key]) => !known.has(key) && !failed.has(key));
    if (missing.length === 0) return;
    // Two waves at once: the model works on one while the other is being written.
    const limit = pLimit(2);
    const waves = chunks(missing, LIMITS.modelWaveItems).map((wave) =>
      limit(async () => {
        for (const error of await this.#askWave(wave, asked)) onFailure(error);
        options.onProgress?.(known.size + failed.size, items.size);
      }),
    );
    try {
      await Promise.all(waves);
    } finally {
      limit.clearQueue();
    }
  }

  async #lookUp(keys: readonly string[], cache: PersistentCache<Value> | undefined): Promise<Map<string, Value>> {
    const known = new Map<string, Value>();
    for (const key of keys) {
      const value = this.#processCache.get(key);
      if (value !== undefined) known.set(key, value);
    }
    this.#onLookup?.("process", known.size, keys.length - known.size);
    const unknown = keys.filter((key) => !known.has(key));
    if (cache === undefined || unknown.length === 0) return known;
    const before = known.size;
    for (const page of chunks(unknown, LIMITS.cacheKeys)) {
      for (const [key, value] of await cache.get(page)) {
        known.set(key, value);
        this.#processCache.set(key, value);
      }
    }
    const hits = known.size - before;
    this.#onLookup?.("tenant", hits, unknown.length - hits);
    return known;
  }

  /** Asks the model for a wave and keeps what came of it. Answers the failures. */
  async #askWave(
    wave: readonly (readonly [key: string, item: Item])[],
    asked: Asked<Value>,
  ): Promise<readonly EspalierError[]> {
    const { signal, urgent = false } = asked.options;
    const outcomes = await Promise.allSettled(wave.map(([, item]) => this.#batcher.submit(item, { signal, urgent })));
    const fresh = new Map<string, Value>();
    let read = 0;
    const failures: EspalierError[] = [];
    for (const [index, [key]] of wave.entries()) {
      const outcome = outcomes[index];
      if (outcome?.status !== "fulfilled") {
        const error = toEspalierError(outcome?.reason);
        failures.push(error);
        if (isOfOneText(error)) asked.failed.set(key, error);
        if (isRefusedText(error)) this.#refused.set(key, error);
        continue;
      }
      const { output, call, callItems, tokens } = outcome.value;
      asked.calls.set(call, callItems);
      asked.known.set(key, output);
      this.#processCache.set(key, output);
      this.#refused.delete(key);
      fresh.set(key, output);
      read += tokens;
    }
    if (fresh.size > 0) await asked.cache?.put(fresh, read);
    return failures;
  }
}
