import { extname } from "node:path";
import { Piscina } from "piscina";
import { EspalierError, LIMITS } from "#core";
import type { LargeBodyAnswer, LargeBodyTask } from "./check-large-body.js";

/** A thread that has had nothing to do for so long ends, and gives its memory back. */
const IDLE_MS = 30_000;

/** Heap of one thread: what 32 MiB of JSON can grow to, and no more, so that no body ends the process. */
const HEAP_MEBIBYTES = 2_048;

/** The threads that check large bodies. None runs before the first such body. */
export interface BodyThreads {
  /**
   * The bytes belong to the thread from now on.
   * @throws EspalierError the check's own, `too_many_large_bodies`, `body_too_large` if the body's JSON needs too much memory
   */
  check(task: LargeBodyTask): Promise<Exclude<LargeBodyAnswer, { readonly failure: unknown }>>;
  close(): Promise<void>;
}

/** @param execArgv options of Node for the threads, beside those of the process */
export function createBodyThreads(execArgv: readonly string[] = []): BodyThreads {
  const pool = new Piscina<LargeBodyTask, LargeBodyAnswer>({
    filename: new URL(`./check-large-body${extname(import.meta.url)}`, import.meta.url).href,
    name: "checkLargeBody",
    minThreads: 0,
    maxThreads: LIMITS.largeBodyThreads,
    maxQueue: LIMITS.largeBodiesWaiting,
    idleTimeout: IDLE_MS,
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MEBIBYTES },
    execArgv: [...process.execArgv, ...execArgv],
  });
  return {
    check: async (task) => {
      const answer = await pool.run(task, { transferList: [task.bytes.buffer as ArrayBuffer] }).catch(refuse);
      if ("failure" in answer) {
        const { code, message, details } = answer.failure;
        throw new EspalierError(code, message, { details });
      }
      return answer;
    },
    close: () => pool.destroy(),
  };
}

/** What the pool says instead of an answer. */
function refuse(thrown: unknown): never {
  if (thrown instanceof Error && thrown.message === "Task queue is at limit") {
    throw new EspalierError(
      "too_many_large_bodies",
      `${LIMITS.largeBodiesWaiting} large bodies wait to be checked already.`,
    );
  }
  if (thrown instanceof Error && "code" in thrown && thrown.code === "ERR_WORKER_OUT_OF_MEMORY") {
    throw new EspalierError("body_too_large", "The body takes too much memory to be read.");
  }
  throw thrown;
}
