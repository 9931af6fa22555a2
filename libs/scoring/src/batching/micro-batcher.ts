/**
 * Gathers the items of concurrent jobs into calls of one model.
 *
 * States of the batcher: idle (no run in flight), busy (`inFlight` runs). There is no timer: a batch starts at the end of
 * the current microtasks when a run is free, and while all runs are taken the queue simply grows, so batches are as large
 * as the load makes them and a lone item never waits for company.
 *
 * States of an item: queued -> running -> settled, each on its own. A batch is the item whose turn it is (the oldest, of
 * the urgent ones first) and those nearest to it in length, up to the token budget of the padded batch: sorted by length
 * there is little padding, and the oldest item's turn bounds the wait of every length.
 *
 * A batch that fails in a way that one item may have caused (out of memory, unusable output, refused) is halved until the
 * offender stands alone and fails alone; where halving meets too many offenders, the rest goes item by item. So an item fails
 * in such a way only by itself. Any other failure is the whole batch's.
 */
import { EspalierError, LIMITS, type ErrorCode } from "#core";
import { abortError } from "../abort.js";
import { chunks } from "../chunks.js";
import { isOfOneText } from "../refused-text.js";

/** The shape of the calls that a model likes. */
export interface Batching {
  /** Calls in flight: 1 for a local model, 2 to 3 for a server that batches by itself. */
  readonly inFlight: number;
  readonly batchItems: number;
  /** Tokens of a padded batch: items times the longest. A longer item goes alone. */
  readonly batchTokens: number;
}

/** What one call of the model did. */
export interface BatchReport {
  readonly items: number;
  /** Without padding. */
  readonly tokens: number;
  readonly milliseconds: number;
  readonly failure?: ErrorCode;
}

export interface MicroBatcherOptions<Item, Output> {
  /** One output per item, in order. */
  readonly run: (items: readonly Item[], signal: AbortSignal) => Promise<readonly Output[]>;
  readonly countTokens: (item: Item) => number;
  readonly batching: Batching;
  /** Items that may wait, by default LIMITS.modelQueueItems; more are refused with `model_overloaded`. */
  readonly queueItems?: number;
  readonly now: () => number;
  /** Hears of every call, also of failed ones. */
  readonly onBatch?: ((report: BatchReport) => void) | undefined;
}

export interface SubmitOptions {
  /** An aborted item leaves the queue; a running call is aborted when all of its items are. */
  readonly signal?: AbortSignal | undefined;
  /** Goes before everything that is not urgent: somebody waits for a query. */
  readonly urgent?: boolean;
}

/** An item's output with the number of the call that made it and that call's size. */
export interface Settled<Output> {
  readonly output: Output;
  readonly call: number;
  readonly callItems: number;
  /** Tokens of the item, without padding. */
  readonly tokens: number;
}

interface Entry<Item, Output> {
  readonly item: Item;
  readonly tokens: number;
  readonly urgent: boolean;
  readonly settle: (outcome: Settled<Output> | EspalierError) => void;
  /** The call that it is part of, while it runs. */
  run: Run | undefined;
  settled: boolean;
}

/** A call with the number of items that still want its outcome. */
interface Run {
  readonly controller: AbortController;
  wanted: number;
}

export class MicroBatcher<Item, Output> {
  readonly #options: MicroBatcherOptions<Item, Output>;
  readonly #queueItems: number;
  #queue: Entry<Item, Output>[] = [];
  #running = 0;
  #calls = 0;
  #scheduled = false;

  constructor(options: MicroBatcherOptions<Item, Output>) {
    this.#options = options;
    this.#queueItems = options.queueItems ?? LIMITS.modelQueueItems;
  }

  /** Items that wait for a call. */
  get waiting(): number {
    return this.#queue.length;
  }

  /**
   * The model's output for one item. Rejects with the model's error, with the signal's, or with `model_overloaded` when
   * the queue is full.
   */
  submit(item: Item, options: SubmitOptions = {}): Promise<Settled<Output>> {
    const { signal, urgent = false } = options;
    if (signal?.aborted === true) return Promise.reject(abortError(signal));
    if (this.#queue.length >= this.#queueItems) return Promise.reject(this.#overloaded());
    return new Promise((resolve, reject) => {
      const entry: Entry<Item, Output> = {
        item,
        tokens: this.#options.countTokens(item),
        urgent,
        run: undefined,
        settled: false,
        settle: (outcome) => {
          if (entry.settled) return;
          entry.settled = true;
          signal?.removeEventListener("abort", onAbort);
          if (outcome instanceof EspalierError) reject(outcome);
          else resolve(outcome);
        },
      };
      const onAbort = (): void => {
        if (signal !== undefined) this.#abort(entry, abortError(signal));
      };
      signal?.addEventListener("abort", onAbort, { once: true });
      this.#queue.push(entry);
      this.#schedule();
    });
  }

  #overloaded(): EspalierError {
    const limit = this.#queueItems;
    return new EspalierError("model_overloaded", `The model's queue is full: ${limit} items wait already.`, {
      details: { limit },
    });
  }

  #abort(entry: Entry<Item, Output>, error: EspalierError): void {
    entry.settle(error);
    const { run } = entry;
    if (run === undefined) {
      this.#queue = this.#queue.filter((other) => other !== entry);
      return;
    }
    run.wanted -= 1;
    if (run.wanted === 0) run.controller.abort(error);
  }

  #schedule(): void {
    if (this.#scheduled || this.#running >= this.#options.batching.inFlight) return;
    this.#scheduled = true;
    queueMicrotask(() => {
      this.#scheduled = false;
      this.#start();
    });
  }

  #start(): void {
    while (this.#running < this.#options.batching.inFlight && this.#queue.length > 0) {
      const batch = this.#takeBatch();
      this.#running += 1;
      void this.#runBatch(batch).finally(() => {
        this.#running -= 1;
        this.#schedule();
      });
    }
  }

  /** The item whose turn it is and its nearest neighbours in length among the first of the queue. */
  #takeBatch(): readonly Entry<Item, Output>[] {
    const { batchItems, batchTokens } = this.#options.batching;
    const turn = this.#queue.find((entry) => entry.urgent) ?? this.#queue[0];
    if (turn === undefined) return [];
    const byDistance = this.#queue
      .slice(0, LIMITS.modelBatchCandidates)
      .filter((entry) => entry !== turn)
      .sort((left, right) => Math.abs(left.tokens - turn.tokens) - Math.abs(right.tokens - turn.tokens));
    const batch = new Set([turn]);
    let longest = turn.tokens;
    for (const entry of byDistance) {
      if (batch.size >= batchItems) break;
      const padded = Math.max(longest, entry.tokens);
      if (padded * (batch.size + 1) > batchTokens) continue;
      batch.add(entry);
      longest = padded;
    }
    this.#queue = this.#queue.filter((entry) => !batch.has(entry));
    return [...batch].sort((left, right) => left.tokens - right.tokens);
  }

  /**
   * Runs a batch and, where one item may be to blame, its halves: n items cost at most n + LIMITS.modelBatchFailures calls.
   * Never rejects: every entry is settled.
   */
  async #runBatch(batch: readonly Entry<Item, Output>[]): Promise<void> {
    const parts: (readonly Entry<Item, Output>[])[] = [batch];
    let failures = 0;
    for (let part = parts.shift(); part !== undefined; part = parts.shift()) {
      const live = part.filter((entry) => !entry.settled);
      if (live.length === 0) continue;
      const error = await this.#call(live);
      if (error === undefined) continue;
      failures += 1;
      if (live.length > 1 && isOfOneText(error)) {
        const size = failures < LIMITS.modelBatchFailures ? Math.ceil(live.length / 2) : 1;
        parts.unshift(...chunks(live, size));
      } else {
        for (const entry of live) entry.settle(error);
      }
    }
  }

  /** One call of the model: settles the entries, or answers the error. */
  async #call(batch: readonly Entry<Item, Output>[]): Promise<EspalierError | undefined> {
    const run: Run = { controller: new AbortController(), wanted: batch.length };
    for (const entry of batch) entry.run = run;
    const call = ++this.#calls;
    const startedAt = this.#options.now();
    let failure: EspalierError | undefined;
    try {
      const items = batch.map((entry) => entry.item);
      const outputs = await this.#options.run(items, run.controller.signal);
      settleAll(batch, outputs, call);
    } catch (thrown) {
      failure =
        thrown instanceof EspalierError
          ? thrown
          : new EspalierError("internal", "The model's adapter failed.", { cause: thrown });
    }
    this.#options.onBatch?.({
      items: batch.length,
      tokens: batch.reduce((sum, entry) => sum + entry.tokens, 0),
      milliseconds: this.#options.now() - startedAt,
      ...(failure !== undefined && { failure: failure.code }),
    });
    return failure;
  }
}

function settleAll<Item, Output>(
  batch: readonly Entry<Item, Output>[],
  outputs: readonly Output[],
  call: number,
): void {
  if (outputs.length !== batch.length) {
    throw new EspalierError(
      "model_bad_output",
      `The model answered ${outputs.length} results for ${batch.length} items.`,
      { details: { expected: batch.length, received: outputs.length } },
    );
  }
  for (const [index, entry] of batch.entries()) {
    entry.settle({ output: outputs[index] as Output, call, callItems: batch.length, tokens: entry.tokens });
  }
}
