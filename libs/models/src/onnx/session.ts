import { extname } from "node:path";
import { Piscina } from "piscina";
import { EspalierError, inTime, LIMITS, type ErrorCode } from "#core";
import type { Output, SessionAnswer, SessionTask, SessionThreadData } from "./session-thread.js";
import type { Encoded } from "./tokenizer.js";

/**
 * What a thread does, as a number that it shares with its process: while the runtime works in it, it must not be ended. Changed by
 * compare-and-exchange: from idle to working and back by the thread, from idle to ending by the process, after which the
 * thread begins nothing.
 */
const STATES = { idle: 0, working: 1, ending: 2 } as const;

/** A process that ends, or closes a session, waits at most so long for what the runtime does, in milliseconds. */
const LAST_CALL_MS = 30_000;

export interface SessionOptions {
  /** Threads of one call; default: the runtime's own choice, the physical cores. */
  readonly threads?: number | undefined;
}

/** The thread of a session. */
interface SessionThread {
  readonly pool: Piscina<SessionTask, SessionAnswer>;
  /** One of `STATES`. */
  readonly state: Int32Array;
}

const running = new Set<SessionThread>();

/** A thread whose session is garbage ends. */
const forgotten = new FinalizationRegistry<SessionThread>((thread) => void end(thread));

/** An ONNX model that takes tokens. Each has a thread, in which it is loaded and run: calls hold up no event loop. */
export class OnnxSession {
  readonly #thread: SessionThread;
  readonly #id: string;
  #closed = false;

  private constructor(thread: SessionThread, id: string) {
    this.#thread = thread;
    this.#id = id;
    forgotten.register(this, thread, this);
  }

  /** @throws `model_unusable` if the runtime cannot load the file, or the model wants other inputs than tokens. */
  static async open(weights: string, id: string, { threads }: SessionOptions): Promise<OnnxSession> {
    const session = new OnnxSession(start(weights, threads), id);
    try {
      const { unknown } = await session.#thread.pool.run({}).catch((cause: unknown) => {
        const message = `The model ${id} cannot be loaded: is ${weights} an ONNX file?`;
        throw new EspalierError("model_unusable", message, { cause });
      });
      if (unknown === undefined) return session;
      throw session.#failure("model_unusable", `wants an input ${unknown}, which is unknown here`);
    } catch (error) {
      await session.close();
      throw error;
    }
  }

  /**
   * One call for a batch, padded to its longest and masked.
   * @throws `model_out_of_memory`, `model_bad_output`, `model_timeout` after LIMITS.modelRequestMs, `model_unavailable`
   */
  async run(encoded: readonly Encoded[], padId: number): Promise<Output> {
    // The pool itself would start another thread.
    if (this.#closed) throw this.#failure("model_unavailable", "is closed");
    const call = this.#thread.pool.run({ batch: { encoded, padId } }).catch((cause: unknown) => {
      const memory = /bad_alloc|failed to allocate|out of memory/i.test(String(cause));
      if (memory) throw this.#failure("model_out_of_memory", "ran out of memory", cause);
      throw this.#failure("model_unavailable", "failed in the runtime", cause);
    });
    // A call that hangs is left to its thread: the event loop of the process would not show it.
    const { output } = await inTime(call, LIMITS.modelRequestMs, () =>
      this.#failure("model_timeout", `did not answer within ${LIMITS.modelRequestMs} ms`),
    );
    if (output === undefined) throw this.#failure("model_bad_output", "answered no 32-bit floats");
    return output;
  }

  #failure(code: ErrorCode, what: string, cause?: unknown): EspalierError {
    return new EspalierError(code, `The model ${this.#id} ${what}.`, { details: { model: this.#id }, cause });
  }

  /** Frees the weights, once a call under way is over. */
  async close(): Promise<void> {
    this.#closed = true;
    forgotten.unregister(this);
    await end(this.#thread);
  }
}

function start(weights: string, threads: number | undefined): SessionThread {
  const shared = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
  const state = new Int32Array(shared);
  // It loads the model.
  Atomics.store(state, 0, STATES.working);
  const pool = new Piscina<SessionTask, SessionAnswer>({
    filename: new URL(`./session-thread${extname(import.meta.url)}`, import.meta.url).href,
    minThreads: 1,
    maxThreads: 1,
    closeTimeout: LAST_CALL_MS,
    workerData: { weights, threads, state: shared, states: STATES } satisfies SessionThreadData,
  });
  pool.on("error", () => {
    // Calls say so, and a thread that died is replaced.
  });
  const thread = { pool, state };
  if (running.size === 0) process.on("exit", awaitCalls);
  running.add(thread);
  return thread;
}

async function end(thread: SessionThread): Promise<void> {
  try {
    await thread.pool.close();
  } finally {
    running.delete(thread);
    if (running.size === 0) process.off("exit", awaitCalls);
  }
}

/** What ends the process ends the threads, and one that is ended while the runtime works aborts it. */
function awaitCalls(): void {
  const until = performance.now() + LAST_CALL_MS;
  for (const { state } of running) {
    while (Atomics.compareExchange(state, 0, STATES.idle, STATES.ending) === STATES.working) {
      if (Atomics.wait(state, 0, STATES.working, until - performance.now()) === "timed-out") break;
    }
  }
}
